"""Which ops ran where, and the policy for those that run on the host: warn once, or refuse.

The C++ dispatcher calls `on_fallback` before each host run, and does it when that returns; it
counts what ran. How a host run is done is csrc/dispatch's; which ops need one is decided in
torch_neuronx.lowering. The rest is public through torch_neuronx.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import torch

from torch_neuronx.runtime import config, metrics

# Kept in PyTorch's thread-local state and not in a contextvar: autograd carries that state to the
# threads that run a backward pass.
_FORBIDDEN = "torch_neuronx.no_fallback"


def _is_forbidden() -> bool:
    return torch._C._is_key_in_tls(_FORBIDDEN) and torch._C._get_obj_in_tls(_FORBIDDEN)


@contextmanager
def no_fallback() -> Iterator[None]:
    """Within it (as a context manager or a decorator), an op that would run on the host raises
    NotImplementedError naming the op and the reason. Holds for the calling thread and for the
    backward passes that it starts."""
    outer = _is_forbidden()
    torch._C._stash_obj_in_tls(_FORBIDDEN, True)
    try:
        yield
    finally:
        # Never left behind: a thread that ends with an object in this state waits for the GIL.
        if not outer:
            torch._C._remove_obj_from_tls(_FORBIDDEN)


def on_fallback(op_name: str, reason: str) -> bool:
    """Called before `op_name` runs on the host; raises when that is not allowed.

    Raises NotImplementedError (a RuntimeError), as PyTorch does for an op without a kernel.
    Returns whether the run counts: printing a tensor brings it to the host by its nature.
    """
    if _is_printing():
        return False
    forbidden_by = _forbidden_by()
    if forbidden_by:
        raise NotImplementedError(
            f"{op_name} would run on the host: {reason}. {forbidden_by} forbids it."
        )
    if metrics.record_fallback(op_name, reason):
        warnings.warn(
            f"{op_name} runs on the host: {reason}. Each call copies its tensors there and back. "
            "torch_neuronx.no_fallback() or NEURON_FALLBACK_ENABLED=0 makes this an error.",
            stacklevel=2,
        )
    return True


def _is_printing() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code is torch._tensor_str._str_intern.__code__:
            return True
        frame = frame.f_back
    return False


def _forbidden_by() -> str:
    if _is_forbidden():
        return "torch_neuronx.no_fallback()"
    if not config.FALLBACK_ENABLED.value():
        return f"{config.FALLBACK_ENABLED.name}=0"
    return ""


def get_executed_ops() -> list[str]:
    """Names of the ops that ran on the device since the last clear_op_tracking()."""
    return sorted(_core().executed_ops())


def get_fallback_ops() -> list[str]:
    """Names of the ops that ran on the host since the last clear_op_tracking()."""
    return sorted(_core().fallback_ops())


def clear_op_tracking() -> None:
    _core().clear_op_tracking()


def _core():
    # Imported when used: the policy itself needs no extension.
    from torch_neuronx import _C

    return _C
