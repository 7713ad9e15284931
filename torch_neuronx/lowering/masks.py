"""Reading through masks: masked_select, and advanced indexing in which masks are indices.

What is selected is packed to the front of a result with room for all of it: see `counted`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, put_flat, take_at
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.counted import Counted, masked
from torch_neuronx.lowering.indexing import address, is_mask
from torch_neuronx.lowering.registry import bounds, lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

MISMATCH = "shape mismatch: indexing tensors could not be broadcast together with shapes [{}]"


@bounds(aten.masked_select.default)
def _masked_select_bounds(x, mask):
    return x.new_empty(math.prod(torch.broadcast_shapes(x.shape, mask.shape)))


@lowers(aten.masked_select.default)
def _masked_select(out, x, mask):
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    if not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    return masked(mask, shape).pack(flatten(hlo.broadcast_to(x, shape)))


@bounds(aten.index.Tensor, aten._unsafe_index.Tensor)
def _index_bounds(x, indices):
    """Laid out as by indices of as many places as there is room for."""
    if not any(is_mask(index) for index in indices):
        return None
    room = _room(indices)
    plain: list[torch.Tensor | None] = []
    for index in indices:
        if is_mask(index):
            plain += [x.new_empty(room, dtype=torch.int64) for _ in range(index.ndim)]
            if not index.ndim:
                x = x.unsqueeze(len(plain))
                plain.append(x.new_empty(room, dtype=torch.int64))
        else:
            plain.append(index)
    return aten.index.Tensor(x, plain)


def _room(indices: Sequence) -> int:
    """How many places a mask may have: the others' if they say so, else all of the largest."""
    lengths = [index.shape[-1] for index in _tensors(indices) if index.ndim]
    fixed = [n for n in lengths if n != 1]
    masks = [math.prod(index.shape) for index in indices if is_mask(index)]
    return fixed[0] if fixed else max(masks)


def _tensors(indices: Sequence) -> list:
    return [index for index in indices if index is not None and not is_mask(index)]


def index_by_masks(out, x: Value, indices: Sequence[Value | None], *, safe: bool = False):
    """x[indices] where some are masks; `safe`: the others are in range."""
    if not out.numel:
        return _nothing(out, indices)
    given = [d for d, index in enumerate(indices) if index is not None]
    if len(given) == 1:
        (start,) = given
        mask = indices[start]
        assert mask is not None
        shape = (*x.shape[:start], mask.numel, *x.shape[start + mask.ndim :])
        return masked(mask, mask.shape).pack(hlo.reshape(x, shape), start)
    return _index_by_several(out, x, indices, safe)


def _nothing(out, indices) -> Value | Counted:
    """No element whatever the masks say; how many there are is still theirs to say."""
    empty = hlo.full(out.shape, 0, out.dtype)
    given = [index for index in indices if index is not None]
    if len(given) != 1:
        return empty
    dim = next(d for d, index in enumerate(indices) if index is not None)
    mask = given[0]
    return Counted(empty, masked(mask, mask.shape).size, dim) if mask.numel else empty


def _index_by_several(out, x: Value, indices, safe: bool) -> Value | Counted:
    room, is_fixed = _room(indices), any(i.shape[-1:] not in ((), (1,)) for i in _tensors(indices))
    found = [masked(index, index.shape) for index in indices if is_mask(index)]
    total = hlo.full((), room, torch.int64) if is_fixed else _agreed([f.size for f in found])
    for f in found:
        check((f.size != total) & (f.size != 1), "IndexError", MISMATCH, f.size)
    remaining = iter(found)
    plain: list[Value | None] = []
    known: list[int] = []
    for index in indices:
        if not is_mask(index):
            plain.append(index)
            continue
        known += range(len(plain), len(plain) + index.ndim)
        plain += _coordinates(next(remaining), index.shape, room)
    positions, dims, place = address(x, plain, safe=range(x.ndim) if safe else known)
    value = take_at(x, positions, dims, place)
    return value if is_fixed else Counted(value, total, place + positions[0].ndim - 1)


def _agreed(counts: Sequence[Value]) -> Value:
    """The length that counts broadcast to, if they do."""
    total = counts[0]
    for count in counts[1:]:
        total = hlo.select(total == 1, count, total)
    return total


def _coordinates(found, shape: Sequence[int], room: int) -> list[Value]:
    """int64[room] per dimension: where the mask is true, in order. One place alone is repeated;
    what is left over is 0."""
    if not found.mask.numel:
        return [hlo.full((room,), 0, torch.int64) for _ in shape]
    size = max(room, found.mask.numel)
    flat = put_flat(
        hlo.full((size,), 0, torch.int64),
        hlo.select(found.mask, found.rank, hlo.full(found.rank.shape, size, found.rank.dtype)),
        hlo.iota((found.mask.numel,), 0, torch.int64),
    )
    flat = hlo.slice_dim(flat, 0, 0, room)
    if room:
        flat = hlo.select(found.size == 1, hlo.slice_dim(flat, 0, 0, 1), flat)
    sizes = itertools.accumulate(reversed(shape), lambda a, b: a * b, initial=1)
    inner = list(sizes)[: len(shape)][::-1]
    return [hlo.rem(hlo.div(flat, i), n) for i, n in zip(inner, shape, strict=True)]


@lowers(aten.index.Tensor)
def _index(out, x, indices):
    if any(is_mask(index) for index in indices):
        return index_by_masks(out, x, indices)
    return take_at(x, *address(x, indices))


@lowers(aten._unsafe_index.Tensor)
def _unsafe_index(out, x, indices):
    if any(is_mask(index) for index in indices):
        return index_by_masks(out, x, indices, safe=True)
    return take_at(x, *address(x, indices, safe=range(x.ndim)))
