"""Writing whole slices: index_put, index_add, index_copy, index_fill, index_reduce.

One index addresses a slice, and the slice is one window of the scatter: the update is a row copy,
not a loop over elements. Element writes are in scatter.py.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import checked, put, put_at, put_flat, take
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.counted import masked
from torch_neuronx.lowering.fitting import fitted
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.indexing import (
    OUT_OF_BOUNDS,
    OUT_OF_RANGE,
    address,
    is_mask,
    vector,
)
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.scatter import reduce_into
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@lowers(aten.index_put.default)
def _index_put(out, x, indices, values, accumulate=False):
    return index_put(x, indices, values, accumulate)


@lowers(aten._index_put_impl.default)
def _index_put_impl(out, x, indices, values, accumulate=False, unsafe=False):
    return index_put(x, indices, values, accumulate, range(x.ndim) if unsafe else ())


@lowers(aten._unsafe_index_put.default)
def _unsafe_index_put(out, x, indices, values, accumulate=False):
    return index_put(x, indices, values, accumulate, range(x.ndim))


def index_put(x: Value, indices, values: Value, accumulate: bool, safe=()) -> Value:
    """Indices of the dimensions in `safe` are known to be in range, or nowhere."""
    given = [index for index in indices if index is not None]
    if any(is_mask(index) for index in given):
        if len(given) == 1:
            return _put_under_mask(x, indices, values, accumulate)
        indices, safe = _unmasked(x, indices, values)
    index, dims, place = address(x, indices, safe=safe, write=True)
    rest = [n for d, n in enumerate(x.shape) if d not in dims]
    shape = (*rest[:place], *index[0].shape, *rest[place:])
    updates = hlo.broadcast_to(values, shape)
    if not accumulate:
        return put_at(x, index, dims, place, updates)
    wide = compute_dtype(x.dtype)
    total = put_at(hlo.convert(x, wide), index, dims, place, hlo.convert(updates, wide), "add")
    return hlo.convert(total, x.dtype)


def _put_under_mask(x: Value, indices, values: Value, accumulate: bool) -> Value:
    """x[:, mask] = values, where the n-th true element takes the n-th slice of `values`."""
    start = next(d for d, index in enumerate(indices) if index is not None)
    mask = indices[start]
    shape = (*x.shape[:start], mask.numel, *x.shape[start + mask.ndim :])
    flat = hlo.reshape(x, shape)
    true = masked(mask, mask.shape)
    axis = start - (flat.ndim - values.ndim)
    failed = hlo.full((), False, torch.bool)
    if axis >= 0 and values.shape[axis] != 1:
        failed = true.size != values.shape[axis]
        message = _mismatch(values, shape, start)
        check(failed, "RuntimeError", message, true.size, leaves_target=True)
        values = take(values, axis, true.rank)
    new = hlo.broadcast_to(values, shape)
    chosen = hlo.broadcast_in_dim(true.mask & ~failed, shape, [start])
    return hlo.reshape(hlo.select(chosen, flat + new if accumulate else new, flat), x.shape)


def _mismatch(values: Value, shape: tuple[int, ...], start: int) -> str:
    sizes = [str(n) for n in shape]
    sizes[start] = "{}"
    return (
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
        f"indexing result of shape [{', '.join(sizes)}]"
    )


def _unmasked(x: Value, indices, values: Value) -> tuple[list[Value | None], list[int]]:
    """`indices` with each mask as the positions of its true elements, and which dimensions those
    are.

    How many there are must agree with the other indices or with `values`, which makes the number
    static; where nothing fixes it there is a place for every element, unused ones being nowhere.
    """
    lengths, wanted = _lengths(x, indices, values)
    length = max([wanted, *lengths])
    room = length if length > 1 else max(i.numel for i in indices if is_mask(i))
    plain: list[Value | None] = []
    places: list[int] = []
    counts: list[Value] = []
    for index in indices:
        if not is_mask(index):
            plain.append(index)
            continue
        places += range(len(plain), len(plain) + index.ndim)
        found, count = _true_places(index, room, repeats=length > 1 and length in lengths)
        plain += found
        counts.append(count)
    _check_counts(counts, length, length > 1 and length in lengths)
    return plain, places


def _check_counts(counts: list[Value], length: int, single_fits: bool) -> None:
    """Every mask must select `length` elements or, if nothing fixes it, as many as the first
    mask.
    """
    wanted = hlo.full((), length, torch.int64) if length > 1 else counts[0]
    for count in counts:
        wrong = count != wanted
        wrong = wrong & (count != 1) if single_fits else wrong
        message = (
            "shape mismatch: indexing tensors could not be broadcast together with shapes [{}]"
        )
        check(wrong, "IndexError", message, count)


def _lengths(x: Value, indices, values: Value) -> tuple[list[int], int]:
    """(last sizes of the index tensors, size of `values` where the indices' last dimension
    stands).
    """
    spans = [index.ndim if is_mask(index) else 1 for index in indices]
    starts = [sum(spans[:n]) for n in range(len(spans))]
    given = [n for n, index in enumerate(indices) if index is not None]
    adjacent = given == list(range(given[0], given[0] + len(given)))
    rest = x.ndim - sum(spans[n] for n in given)
    axis = values.ndim - 1 - (rest - starts[given[0]] * adjacent)
    lengths = [indices[n].shape[-1] for n in given if indices[n].ndim and not is_mask(indices[n])]
    return [1, *lengths], values.shape[axis] if axis >= 0 else 1


def _true_places(mask: Value, room: int, repeats: bool) -> tuple[list[Value], Value]:
    """(int64 coordinates of the true elements in order, one Value of `room` places per dimension;
    how many there are). Places left over are out of range; with `repeats` one element alone takes
    them all.
    """
    true = masked(mask, mask.shape)
    place = hlo.select(true.mask, true.rank, hlo.full((mask.numel,), room, true.rank.dtype))
    found = hlo.full((room,), mask.numel, torch.int64)
    found = put_flat(found, place, hlo.iota((mask.numel,), 0, torch.int64))
    if repeats:
        found = hlo.select(true.total == 1, hlo.slice_dim(found, 0, 0, 1), found)
    places = [found / math.prod(mask.shape[d + 1 :]) for d in range(mask.ndim)]
    places[1:] = [hlo.rem(p, n) for p, n in zip(places[1:], mask.shape[1:], strict=True)]
    return places, true.size


def _slices(
    x: Value, dim: int, index: Value, error: str, message: str, negative: bool = False
) -> Value:
    return checked(vector(index), x.shape[dim], error, message, negative=negative, write=True)


def _as_slices(x: Value, dim: int, source: Value, index: Value) -> Value:
    """`source` shaped as one slice per index (0-d and 1-d sources of a 0-d index included)."""
    shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
    return hlo.reshape(source, shape)


@lowers(aten.index_add.default, runtime=("alpha",))
def _index_add(out, x, dim, index, source, *, alpha=1):
    dim = wrap_dim(dim, x.ndim)
    x, wide = vector(x), compute_dtype(out.dtype)
    error = ("IndexError", OUT_OF_RANGE) if x.ndim == 1 else (
        "RuntimeError", OUT_OF_BOUNDS.format(dim=0, size=x.shape[dim]))  # fmt: skip
    index = _slices(x, dim, index, *error)
    updates = hlo.convert(_as_slices(x, dim, source, index), wide)
    if not (isinstance(alpha, int) and alpha == 1):
        updates = updates * hlo.number(alpha, wide)
    total = put(hlo.convert(x, wide), dim, index, updates, "add")
    return hlo.reshape(hlo.convert(total, out.dtype), out.shape)


@lowers(aten.index_copy.default)
def _index_copy(out, x, dim, index, source):
    dim = wrap_dim(dim, x.ndim)
    x = vector(x)
    message = "index_copy_(): " + OUT_OF_BOUNDS.format(dim=dim, size=x.shape[dim])
    index = _slices(x, dim, index, "IndexError", message)
    return hlo.reshape(put(x, dim, index, _as_slices(x, dim, source, index)), out.shape)


@lowers(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor, runtime=("value",))
def _index_fill(out, x, dim, index, value):
    dim = wrap_dim(dim, x.ndim)
    x = vector(x)
    message = OUT_OF_BOUNDS.format(dim=dim, size=x.shape[dim])
    index = _slices(x, dim, index, "IndexError", message, negative=True)
    hit = put(
        hlo.full((x.shape[dim],), False, torch.bool),
        0,
        index,
        hlo.full(index.shape, True, torch.bool),
    )
    hit = hlo.broadcast_in_dim(hit, x.shape, [dim])
    return hlo.reshape(
        hlo.select(hit, hlo.full(x.shape, fitted(value, x.dtype), x.dtype), x), out.shape
    )


@lowers(aten.index_reduce.default)
def _index_reduce(out, x, dim, index, source, reduce, *, include_self=True):
    dim = wrap_dim(dim, x.ndim)
    x = vector(x)
    index = _slices(x, dim, index, "IndexError", OUT_OF_RANGE)

    def fold(total, updates, combiner):
        return put(total, dim, index, updates, combiner)

    result = reduce_into(x, _as_slices(x, dim, source, index), fold, reduce, include_self)
    return hlo.reshape(result, out.shape)
