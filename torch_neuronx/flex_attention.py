"""torch.nn.attention.flex_attention on the device, where the user asks for it.

PyTorch checks the device of flex_attention's inputs against a list of its own, which has no
extension point; everything after that check works on any device. So nothing is changed when the
backend loads, and `enable_flex_attention` changes the check for as long as the caller likes.
"""

from __future__ import annotations

from types import TracebackType

from torch import Tensor
from torch.nn.attention import flex_attention as module

_enabled: list[FlexAttention] = []
_pytorch = module._validate_device  # PyTorch's own check


def enable_flex_attention() -> FlexAttention:
    """Lets flex_attention take neuron tensors, with and without torch.compile.

    Returns a handle: `handle.disable()`, or the end of `with enable_flex_attention():`, takes the
    permission back. PyTorch's own check returns when all handles have been disabled.
    """
    module._validate_device = _validate_device
    handle = FlexAttention()
    _enabled.append(handle)
    return handle


def is_enabled() -> bool:
    return bool(_enabled)


def _validate_device(query: Tensor, key: Tensor, value: Tensor) -> None:
    if query.device.type != "neuron":
        _pytorch(query, key, value)


class FlexAttention:
    """What `enable_flex_attention` returns."""

    def disable(self) -> None:
        """Takes back the permission; again, it does nothing."""
        if self in _enabled:
            _enabled.remove(self)
            if not _enabled:
                module._validate_device = _pytorch

    def __enter__(self) -> FlexAttention:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.disable()
