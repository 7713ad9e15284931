"""Which calls need a second look: those PyTorch might refuse, and those whose writes interact.

Pure arithmetic on a call's specs. Called by `plan`; most calls pass without any doubt.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from torch_neuronx.eager.call import Call, NumberListSpec, NumberSpec, TensorSpec

_SECOND_LOOK_LIMIT = 2**20  # elements


def may_be_refused(
    call: Call, targets: Sequence[tuple[TensorSpec, torch.Tensor]], results: Iterable[torch.dtype]
) -> bool:
    """Whether PyTorch might refuse the call, or one of its writes of a result to a target."""
    if (
        _has_mixed_dtypes(call)
        or _has_overflow(call, results)
        or any(_is_refused_alone(call, *t) for t in targets)
    ):
        return True
    written = {spec.index for spec, _ in targets}
    small = _is_small(call)
    return any(
        (small or _place(a) != _place(b)) and (a.index in written or b.index in written)
        for a, b in _overlapping(call.tensors())
    )


_WRITES_ONE_VALUE = {
    torch.ops.aten.fill_.Scalar,
    torch.ops.aten.fill_.Tensor,
    torch.ops.aten.zero_.default,
}


def refuse_expanded(call: Call, targets: Iterable[TensorSpec]) -> None:
    """Refuses a write to an expanded tensor in PyTorch's words, unless all elements get one value.

    CPU only warns of a few (masked_fill_, index_put_, index_fill_), for which its sequential loops
    have a meaning; ours would leave whichever element is written last.
    """
    if call.op in _WRITES_ONE_VALUE:
        return
    for spec in targets:
        places = zip(spec.sizes, spec.strides, strict=True)
        if 0 not in spec.sizes and any(n > 1 and not s for n, s in places):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )


def share_storage(targets: Iterable[TensorSpec], call: Call) -> bool:
    """Whether one of `targets` shares its storage with another tensor of the call."""
    return any(
        t.base == other.base and t.index != other.index for t in targets for other in call.tensors()
    )


def writes_interact(written: Sequence[Any], call: Call) -> bool:
    """Whether a write of a list op changes what a later member of the lists reads or writes."""
    position = {
        member.index: at
        for argument in call.args
        if isinstance(argument, list)
        for at, member in enumerate(argument)
        if isinstance(member, TensorSpec)
    }
    targets = {t.index for t in written if isinstance(t, TensorSpec)}
    return any(
        position.get(a.index) != position.get(b.index)
        for a, b in _overlapping(call.tensors())
        if a.index in targets or b.index in targets
    )


def _has_mixed_dtypes(call: Call) -> bool:
    """Few meta kernels look at whether dtypes go together."""
    return len({t.dtype for t in call.tensors()}) > 1 and _is_small(call)


def _is_small(call: Call) -> bool:
    """Large calls are left to the op's rule where a refusal is unlikely (mixed dtypes, a tensor as
    input and as target), for the second look costs a run on the host."""
    return sum(math.prod(t.sizes) for t in call.tensors()) <= _SECOND_LOOK_LIMIT


def _has_overflow(call: Call, results: Iterable[torch.dtype]) -> bool:
    """Whether a number does not fit a dtype of the call's: most kernels refuse to convert it.

    C++ keeps such calls apart from those whose numbers fit (Frame::add_overflows).
    """
    values = [v for a in call.args for v in _numbers(a)]
    if not values:
        return False
    dtypes = {t.dtype for t in call.tensors()} | set(results)
    return any(not _fits(v, dtype) for v in values for dtype in dtypes)


def _numbers(argument: Any) -> tuple[Any, ...]:
    if isinstance(argument, NumberListSpec):
        return tuple(argument.values)
    return (argument.value,) if isinstance(argument, NumberSpec) else ()


def _fits(value: Any, dtype: torch.dtype) -> bool:
    if dtype == torch.bool or dtype.is_complex:
        return True
    if isinstance(value, complex):
        return not value.imag and _fits(value.real, dtype)
    if dtype.is_floating_point:
        return abs(value) <= torch.finfo(dtype).max or not math.isfinite(value)
    return torch.iinfo(dtype).min <= value <= torch.iinfo(dtype).max


def _is_refused_alone(call: Call, spec: TensorSpec, result: torch.Tensor) -> bool:
    if _overlaps_itself(spec):
        return True
    if call.is_out(spec):
        return result.dtype != spec.dtype
    return tuple(result.shape) != spec.sizes or not torch.can_cast(result.dtype, spec.dtype)


def _overlapping(tensors: Iterable[TensorSpec]) -> Iterator[tuple[TensorSpec, TensorSpec]]:
    """Pairs of arguments whose extents in one storage overlap."""
    by_base = defaultdict(list)
    for tensor in tensors:
        if math.prod(tensor.sizes):
            by_base[tensor.base].append((*_extent(tensor), tensor))
    for members in by_base.values():
        members.sort(key=lambda member: member[:2])
        for at, (_, end, tensor) in enumerate(members):
            for start, _, other in members[at + 1 :]:
                if start >= end:
                    break
                yield tensor, other


def _extent(spec: TensorSpec) -> tuple[int, int]:
    """The first byte, and the one past the last."""
    reach = sum((n - 1) * s for n, s in zip(spec.sizes, spec.strides, strict=True))
    return spec.offset * spec.dtype.itemsize, (spec.offset + reach + 1) * spec.dtype.itemsize


def _place(spec: TensorSpec) -> tuple[Any, ...]:
    return spec.offset, spec.sizes, spec.strides, spec.dtype


def _overlaps_itself(spec: TensorSpec) -> bool:
    reach = 0
    for stride, size in sorted(zip(spec.strides, spec.sizes, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False
