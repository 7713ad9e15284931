"""Reading and writing at computed positions: the one place that speaks StableHLO's gather and
scatter.

`take`/`put` address whole slices along one dimension, `take_at`/`put_at` address along several
dimensions at once, `take_flat`/`put_flat` address single elements of a flat value (the quickest
form on XLA:CPU: one index per element). `checked` turns a user's index tensor into a safe one.
Rules of indexing, scatter, embedding, sorting and padding call these; nothing here knows an ATen
op.

Scatter applies its updates in row-major order of the index, so the last write wins as on CPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.index import index_dtype, narrow
from torch_neuronx.lowering.value import LoweringError, Value


def wrapped(index: Value, size: int) -> Value:
    """Negative positions count from the end."""
    return hlo.select(index < 0, index + size, index)


def any_true(mask: Value) -> Value:
    return hlo.reduce(mask, list(range(mask.ndim)), "or")


def first_where(mask: Value, values: Value) -> tuple[Value, Value]:
    """(is any element of `mask` true, the int64 value at the first such position in row-major
    order).
    """
    count = mask.numel
    places = hlo.iota((count,), 0, index_dtype(count))
    first = hlo.reduce(hlo.select(flatten(mask), places, count), [0], "min")
    value = hlo.dynamic_slice(flatten(values), [first], [1])
    return first < count, hlo.convert(hlo.reshape(value, ()), torch.int64)


def checked(
    index: Value, size: int, error: str, message: str, *, negative: bool, write: bool = False
) -> Value:
    """`index` made safe for a dimension of `size`: checked, wrapped if `negative` is allowed, and
    narrowed.

    Out of range fails the program's check with `error` and `message` ({} is the offending index).
    With `write` a failed check turns every position into `size`, which scatter drops: nothing is
    written.
    """
    if index.dtype.is_floating_point or index.dtype.is_complex:
        raise LoweringError(f"an index must be an integer, got {index}")
    index = hlo.convert(index, torch.int64)
    outside = (index >= size) | (index < (-size if negative else 0))
    if not index.numel:
        return narrow(index, size)
    failed, value = first_where(outside, index)
    check(failed, error, message, value, leaves_target=write)
    index = narrow(wrapped(index, size) if negative else index, size)
    if write:
        nowhere = hlo.full(index.shape, size, index.dtype)
        index = hlo.select(hlo.broadcast_to(failed, index.shape), nowhere, index)
    return index


def grid(shape: Sequence[int], dim: int, dtype: torch.dtype) -> Value:
    return hlo.iota(tuple(shape), dim, dtype)


def linear(index: Value, shape: Sequence[int], dim: int) -> Value:
    """Flat positions in a row-major `shape` of the elements whose coordinate at `dim` is `index`
    and whose other coordinates are the element's own place in `index`. A position past the end
    of `dim` is nowhere.
    """
    total = math.prod(shape)
    dtype = index_dtype(total)
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    own = hlo.convert(index, dtype)
    flat = own * strides[dim]
    for d in range(len(shape)):
        if d != dim and index.shape[d] > 1:
            flat = flat + grid(index.shape, d, dtype) * strides[d]
    return hlo.select(own >= shape[dim], hlo.full(index.shape, total, dtype), flat)


def window_index(windows: int, step: int, size: int, dilation: int) -> Value:
    """[windows, size]: the input positions of each sliding window."""
    shape = (windows, size)
    return grid(shape, 0, torch.int32) * step + grid(shape, 1, torch.int32) * dilation


def strided_index(size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    """Storage positions of the elements of a strided view."""
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    flat = hlo.full(tuple(size), offset, index_dtype(max(last, 0)))
    for d, s in enumerate(stride):
        if size[d] > 1 and s:
            flat = flat + grid(size, d, flat.dtype) * s
    return flat


def take_at(x: Value, index: Sequence[Value], dims: Sequence[int], place: int) -> Value:
    """x at positions `index[i]` of dimension `dims[i]`; the index's own dimensions stand at
    `place`.
    """
    index_shape = index[0].shape
    rest = [d for d in range(x.ndim) if d not in dims]
    window = [x.shape[d] for d in rest]
    shape = (*window[:place], *index_shape, *window[place:])
    if 0 in shape or 0 in x.shape:
        return hlo.full(shape, 0, x.dtype)
    offset_dims = [d if d < place else d + len(index_shape) for d in range(len(rest))]
    return hlo.gather(
        x,
        _vectors(index),
        [1 if d in dims else x.shape[d] for d in range(x.ndim)],
        offset_dims=offset_dims,
        collapsed_slice_dims=sorted(dims),
        start_index_map=list(dims),
        index_vector_dim=len(index_shape),
    )


def put_at(
    x: Value,
    index: Sequence[Value],
    dims: Sequence[int],
    place: int,
    updates: Value,
    combiner: str = "set",
) -> Value:
    """`x` with `updates` (shaped as `take_at`'s result) written, or combined, at those positions.

    All dimensions before and among `dims` become one list of rows, so that the scatter writes
    contiguous rows of what comes after them; XLA:CPU is slow at any other window.
    """
    if 0 in updates.shape or 0 in x.shape:
        return x
    if list(dims) != list(range(place, place + len(dims))):
        return _put_in_front(x, index, dims, place, updates, combiner)
    end = place + len(dims)
    lead, size, row = (math.prod(n) for n in (x.shape[:place], x.shape[place:end], x.shape[end:]))
    position = flatten(_flat_position(index, x.shape[place:end]))
    rows = hlo.reshape(x, (lead * size, row))
    position = _repeated(position, lead, size)
    updates = hlo.reshape(updates, (position.numel, row))
    return hlo.reshape(_put_rows(rows, position, updates, combiner), x.shape)


def _put_in_front(x, index, dims, place, updates, combiner) -> Value:
    """put_at after moving the addressed dimensions, and the index's, to the front."""
    rest = [d for d in range(x.ndim) if d not in dims]
    order = [*dims, *rest]
    window = [*range(place), *range(place + index[0].ndim, updates.ndim)]
    front = [d for d in range(updates.ndim) if d not in window]
    moved = hlo.transpose(updates, [*front, *window])
    front_dims = list(range(len(dims)))
    result = put_at(hlo.transpose(x, order), index, front_dims, 0, moved, combiner)
    return hlo.transpose(result, [order.index(d) for d in range(x.ndim)])


def _repeated(position: Value, lead: int, size: int) -> Value:
    """Positions within each of `lead` groups of `size` rows, as positions among all the rows."""
    nowhere = lead * size
    dtype = index_dtype(nowhere)
    position = hlo.convert(position, dtype)
    if lead == 1:
        return position
    shape = (lead, position.numel)
    group = hlo.iota(shape, 0, dtype) * size
    spread = hlo.broadcast_to(position, shape)
    return flatten(hlo.select(spread >= size, nowhere, group + spread))


def _put_rows(rows: Value, position: Value, updates: Value, combiner: str) -> Value:
    """[n, row] with whole rows written; a row of one element is an element of a flat value."""
    single = rows.shape[1] == 1
    result = hlo.scatter(
        flatten(rows) if single else rows,
        hlo.expand_dims(position, 1),
        flatten(updates) if single else updates,
        update_window_dims=[] if single else [1],
        inserted_window_dims=[0],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
        combiner=combiner,
    )
    return cast(Value, result)


def take(x: Value, dim: int, index: Value) -> Value:
    """Slices of `x` along `dim`; the index's dimensions replace `dim`."""
    return take_at(x, [index], [dim], dim)


def put(x: Value, dim: int, index: Value, updates: Value, combiner: str = "set") -> Value:
    return put_at(x, [index], [dim], dim, updates, combiner)


def take_flat(x: Value, index: Value) -> Value:
    """Elements of the 1-d `x`, shaped as `index`."""
    return take_at(x, [index], [0], 0)


def put_flat(x: Value, index: Value, updates: Value, combiner: str = "set") -> Value:
    """The 1-d `x` with single elements written; positions at or past its end are dropped."""
    return put_at(x, [flatten(index)], [0], 0, flatten(updates), combiner)


def flatten(x: Value) -> Value:
    return hlo.reshape(x, (x.numel,))


def _flat_position(index: Sequence[Value], sizes: Sequence[int]) -> Value:
    """Row-major position of the coordinates `index`; nowhere as soon as one is past its end."""
    if len(index) == 1:
        return index[0]
    total = math.prod(sizes)
    flat = hlo.full(index[0].shape, 0, index_dtype(total))
    outside = hlo.full(index[0].shape, False, torch.bool)
    for d, (position, size) in enumerate(zip(index, sizes, strict=True)):
        outside = outside | (position >= size)
        flat = flat + hlo.convert(position, flat.dtype) * math.prod(sizes[d + 1 :])
    return hlo.select(outside, total, flat)


def _vectors(index: Sequence[Value]) -> Value:
    """Index values as StableHLO's index vectors: one more dimension, last, over the addressed
    dimensions.
    """
    dtype = torch.int64 if any(i.dtype == torch.int64 for i in index) else torch.int32
    parts = [hlo.reshape(hlo.convert(i, dtype), (*i.shape, 1)) for i in index]
    return parts[0] if len(parts) == 1 else hlo.concat(parts, parts[0].ndim - 1)
