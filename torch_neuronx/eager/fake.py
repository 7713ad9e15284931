"""Runs an op without data for its results' metadata, and on zeros for PyTorch's own errors.

PyTorch's meta kernels check less than its CPU kernels (overlap, casts of results) and say it in
other words; so where a call is refused or doubtful, it is run on CPU zeros and what that raises is
raised. Called by `plan` and `trace`.
"""

from __future__ import annotations

import contextlib
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)

from torch_neuronx.eager.call import Call, TensorSpec
from torch_neuronx.eager.standins import CpuStandIns, FakeStandIns, MetaStandIns, fake_mode
from torch_neuronx.lowering import registry

DYNAMIC = (DataDependentOutputException, DynamicOutputShapeException)

# Ops whose meta kernels ask which device a fake tensor is for, and whose results depend on it.
_DEVICE_DEPENDENT = ("attention", "conv", "embedding_bag", "fft", "linalg", "lstm", "norm")
_QUICK_NUMEL = 2**12  # elements of all arguments
_QUICK_RESULT = 2**20  # elements that a result may have, by the integers among the arguments
_fake_log = logging.getLogger("torch._subclasses.fake_tensor")


def infer(op: OpOverload, call: Call, arguments: Sequence[Any]) -> Any:
    """`op`'s results as tensors whose data means nothing; its errors are those of the CPU kernel.

    A small call is run on CPU zeros: the oracle itself, in microseconds. Else plain meta tensors do
    for most ops; FakeTensorMode, which knows of the CPU, is several times slower, and the first use
    of either imports torch._dynamo. Raises one of `DYNAMIC` if the result depends on data.
    """
    if _is_quick_on_cpu(op, call):
        with contextlib.suppress(Exception), quiet():
            positional, keyword = CpuStandIns(call, fill=0).bind(op, arguments)
            return op(*positional, **keyword)
        raise_cpu_error(call, unless_missing=True)
    function = registry.inference(op)
    if function is op and not any(word in op.name() for word in _DEVICE_DEPENDENT):
        with contextlib.suppress(Exception), quiet():
            positional, keyword = MetaStandIns(call).bind(op, arguments)
            return op(*positional, **keyword)
    try:
        with quiet(), fake_mode():
            positional, keyword = FakeStandIns(call).bind(op, arguments)
            return function(*positional, **keyword)
    except DYNAMIC:
        raise
    except Exception:
        raise_cpu_error(call)
        raise


def room(op: OpOverload, call: Call, arguments: Sequence[Any]) -> Any:
    """`op`'s results with room for as much as the data may ask for; None where their sizes do not
    depend on it. Raises what the CPU kernel raises whatever the data."""
    bounds = registry.bound(op)
    if bounds is None:
        return None
    with quiet():
        positional, keyword = MetaStandIns(call).bind(op, arguments)
        try:
            found = bounds(*positional, **keyword)
        except Exception:
            raise_cpu_error(call)
            raise
    if found is not None:
        raise_cpu_error(call, unless_missing=True)
    return found


def raise_cpu_error(call: Call, *, unless_missing: bool = False) -> None:
    """Raises what the call raises on CPU whatever the data; returns if it raises nothing.

    `unless_missing`: nor if the CPU only lacks a kernel for the dtype, which the device may have.
    """
    oracle = registry.cpu_form(call.op)
    if oracle is None:
        return
    error = _error_on_cpu(oracle, call, fill=0)
    if error is None or (unless_missing and _is_missing_kernel(error)):
        return
    if isinstance(error, torch.linalg.LinAlgError):
        return  # it is about values: matrices of zeros and of ones are singular alike
    if str(_error_on_cpu(oracle, call, fill=1)) == str(error):
        raise error


def resized_on_cpu(
    call: Call, targets: Sequence[TensorSpec]
) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """(index, sizes, strides) that the call gives its out= arguments: structured ops give them the
    result's strides, others contiguous ones, and no meta kernel tells which."""
    standins = CpuStandIns(call, fill=0)
    with quiet():
        positional, keyword = standins.bind(call.op, call.args)
        call.op(*positional, **keyword)
    tensors = [(t.index, standins.tensors[t.index]) for t in targets]
    return [(index, tuple(t.shape), tuple(t.stride())) for index, t in tensors]


@contextlib.contextmanager
def plain_dispatch() -> Iterator[None]:
    """Keeps the caller's modes (default device, autocast, grad) from reaching our own runs."""
    with torch._C.DisableTorchFunction(), torch._C._DisableAutocast(), torch.no_grad():
        yield


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings, and no traceback logged for an error that the user will see anyway."""
    before = _fake_log.disabled
    _fake_log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _fake_log.disabled = before


def _is_quick_on_cpu(op: OpOverload, call: Call) -> bool:
    """Whether a run on the host costs next to nothing, and draws no random numbers."""
    if torch.Tag.nondeterministic_seeded in op.tags or registry.cpu_form(op) is not op:
        return False
    numel = sum(math.prod(t.sizes) for t in call.tensors())
    growth = math.prod(abs(n) for n in _integers(call.args) if n)
    is_of_tensors = any(True for _ in call.tensors())
    return is_of_tensors and numel <= _QUICK_NUMEL and max(numel, 1) * growth <= _QUICK_RESULT


def _integers(values: Any) -> Iterator[int]:
    """Sizes and repeats among the arguments: what can make a result large."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _integers(value)
        elif isinstance(value, int):
            yield value


def _is_missing_kernel(error: Exception) -> bool:
    return isinstance(error, NotImplementedError) and "not implemented for '" in str(error)


def _error_on_cpu(oracle: Callable[..., Any], call: Call, fill: int) -> Exception | None:
    seeded = torch.Tag.nondeterministic_seeded in call.op.tags
    state = torch.get_rng_state() if seeded else None
    try:
        with quiet():
            positional, keyword = CpuStandIns(call, fill).bind(call.op, call.args)
            oracle(*positional, **keyword)
    except Exception as error:
        return error
    finally:
        if state is not None:
            torch.set_rng_state(state)
    return None
