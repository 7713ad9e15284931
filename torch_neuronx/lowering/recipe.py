"""View recipes: what a strided tensor shows of the buffer behind it, and how to write through it.

A buffer is a row-major array of its physical shape and dtype; a view is (dtype, sizes, strides,
offset) over the same bytes. `read` builds the view's logical value, `write` the buffer after a new
value was written through the view. Called by `eager` and `compile` for inputs and outputs, and by
the rules of as_strided. How a view lies in its storage is analysed in `layout`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.index import index_dtype, narrow
from torch_neuronx.lowering.layout import Level, box_of, levels_of, memory_order
from torch_neuronx.lowering.value import Value


@dataclass(frozen=True)
class View:
    """Strides and offset count elements of `dtype`.

    `offset` is a 0-d int64 input, or static. `box` promises that at this offset no dimension runs
    past its end into the next one, as in every view made by indexing; without it all is right too,
    but a write may be slower.
    """

    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: Value | int = 0
    box: bool = False

    @property
    def numel(self) -> int:
        return math.prod(self.sizes)


def covers(view: View, nbytes: int) -> bool:
    """Whether the view is exactly its storage of `nbytes`, in some order of dimensions."""
    if view.numel * view.dtype.itemsize != nbytes or isinstance(view.offset, Value):
        return False
    return view.offset == 0 and memory_order(view.sizes, view.strides) is not None


def to_memory(value: Value, strides: Sequence[int]) -> Value:
    """A logical value as the row-major buffer of a fresh tensor with dense `strides`."""
    order = memory_order(value.shape, strides)
    return value if order is None else hlo.transpose(value, order)


def fresh(value: Value, strides: Sequence[int]) -> Value:
    """The buffer of a new tensor of these strides: what its elements do not cover is zero."""
    if memory_order(value.shape, strides) is not None:
        return to_memory(value, strides)
    extent = 1 + sum((n - 1) * s for n, s in zip(value.shape, strides, strict=True))
    return scatter_strided(hlo.full((extent,), 0, value.dtype), value, strides)


def read(base: Value, nbytes: int, view: View) -> Value:
    """The logical value of `view` over the storage of `nbytes` whose start `base` fills."""
    if view.numel == 0:
        return hlo.full(view.sizes, 0, view.dtype)
    if covers(view, nbytes) and _fills(base, nbytes):
        return _read_whole(_as_dtype(base, view.dtype), view)
    levels = levels_of(view.sizes, view.strides)
    box = box_of(levels, nbytes // view.dtype.itemsize) if view.box else None
    flat = elements(base, nbytes, view.dtype)
    if box is not None and levels is not None:
        starts, sizes = _box_starts(view.offset, levels, flat.numel), _box_sizes(levels)
        window = hlo.dynamic_slice(hlo.reshape(flat, box), starts, sizes)
        return _spread(hlo.reshape(window, tuple(v.size for v in levels)), levels, view.sizes)
    if levels is not None:
        return _spread(_peel(flat, view.offset, levels), levels, view.sizes)
    return _gather(flat, view)


def write(base: Value, nbytes: int, view: View, new: Value) -> Value:
    """The buffer after `new` (of the view's sizes and dtype) was written through `view`.

    Where the view is expanded, the last of the elements that share a place is written.
    """
    if view.numel == 0:
        return base
    view, new = _without_repeats(view, new)
    if covers(view, nbytes):
        return to_memory(new, view.strides)
    dtype = base.dtype if base.dtype.itemsize == view.dtype.itemsize else view.dtype
    flat = elements(base, nbytes, dtype)
    written = _write_flat(flat, view, _as_dtype(new, dtype))
    if _fills(base, nbytes):
        return hlo.reshape(hlo.bitcast(written, base.dtype), base.shape)
    return written if nbytes % base.dtype.itemsize else hlo.bitcast(written, base.dtype)


def _without_repeats(view: View, new: Value) -> tuple[View, Value]:
    repeated = [
        d for d, (n, s) in enumerate(zip(view.sizes, view.strides, strict=True)) if n > 1 and not s
    ]
    for dim in repeated:
        new = hlo.slice_dim(new, dim, view.sizes[dim] - 1, view.sizes[dim])
    return replace(view, sizes=new.shape), new


def elements(base: Value, nbytes: int, dtype: torch.dtype) -> Value:
    """The whole storage as a 1-d value of `dtype`; bytes that the buffer lacks are zero."""
    flat = hlo.reshape(base, (base.numel,))
    if nbytes % flat.dtype.itemsize or nbytes % dtype.itemsize:
        flat = hlo.bitcast(flat, torch.uint8)
    count = nbytes // flat.dtype.itemsize
    if count != flat.numel:
        flat = hlo.pad(flat, 0, [0], [count - flat.numel])
    spare = nbytes % dtype.itemsize
    flat = hlo.slice(flat, [0], [count - spare]) if spare else flat
    return hlo.bitcast(flat, dtype)


def gather_strided(
    flat: Value, sizes: Sequence[int], strides: Sequence[int], offset: Value | int = 0
) -> Value:
    """flat[offset + sum(i_d * strides[d])] for every index i below `sizes`; overlaps allowed."""
    view = View(flat.dtype, tuple(sizes), tuple(strides), offset)
    return read(flat, flat.numel * flat.dtype.itemsize, view)


def scatter_strided(
    flat: Value, new: Value, strides: Sequence[int], offset: Value | int = 0
) -> Value:
    """`flat` with new[i] at offset + sum(i_d * strides[d]): the inverse of `gather_strided`."""
    if new.numel == 0:
        return flat
    return _write_flat(flat, View(flat.dtype, new.shape, tuple(strides), offset), new)


def _fills(base: Value, nbytes: int) -> bool:
    return base.numel * base.dtype.itemsize == nbytes


def _as_dtype(x: Value, dtype: torch.dtype) -> Value:
    """`x` with its bits read as `dtype`, flattened if the dtypes differ in width."""
    if x.dtype.itemsize != dtype.itemsize or x.dtype.is_complex != dtype.is_complex:
        x = hlo.reshape(x, (x.numel,))
    return hlo.bitcast(x, dtype)


def _read_whole(base: Value, view: View) -> Value:
    order = memory_order(view.sizes, view.strides) or []
    dense = hlo.reshape(base, tuple(view.sizes[d] for d in order))
    return hlo.transpose(dense, [order.index(d) for d in range(len(order))])


def _peel(flat: Value, offset: Value | int, levels: list[Level]) -> Value:
    """The view's elements, one dimension per level: cut to its extent, then fold stride by stride.

    Only the bytes between the first and the last element are touched, at any offset.
    """
    extent = levels[0].extent if levels else 1
    if extent > flat.numel:
        flat = hlo.pad(flat, 0, [0], [extent - flat.numel])
    x = hlo.dynamic_slice(flat, [_start(offset, flat.numel)], (extent,))
    for level in levels:
        outer, whole = x.shape[:-1], level.size * level.stride
        grown = [0] * len(outer) + [whole - level.extent]
        x = hlo.pad(x, 0, [0] * x.ndim, grown) if whole != level.extent else x
        x = hlo.reshape(x, outer + (level.size, level.stride))
        x = hlo.slice_dim(x, -1, 0, level.inner_extent)
    return hlo.reshape(x, tuple(v.size for v in levels))


def _spread(x: Value, levels: list[Level], sizes: tuple[int, ...]) -> Value:
    """Dimensions in level order to the view's: transposed, stride-0 dimensions repeated."""
    by_dim = sorted(range(len(levels)), key=lambda i: levels[i].dim)
    x = hlo.transpose(x, by_dim)
    if x.numel == math.prod(sizes):
        return hlo.reshape(x, sizes)
    return hlo.broadcast_in_dim(x, sizes, [levels[i].dim for i in by_dim])


def _gather(flat: Value, view: View) -> Value:
    """Element by element: overlapping dimensions, as unfold makes them."""
    index = _flat_index(flat.numel, view)
    gathered = hlo.gather(
        flat,
        hlo.reshape(index, (index.numel, 1)),
        (1,),
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
    )
    return hlo.reshape(gathered, view.sizes)


def _write_flat(flat: Value, view: View, new: Value) -> Value:
    """`flat`, of the width of the view's dtype, with `new` written: in place where possible."""
    levels = levels_of(view.sizes, view.strides)
    if levels is None or math.prod(v.size for v in levels) != view.numel:
        return _scatter(flat, view, new)
    if levels and levels[0].extent != view.numel:
        box = box_of(levels, flat.numel) if view.box or len(levels) == 1 else None
        if box is None:
            return _scatter(flat, view, new)
    else:
        box = (flat.numel,)
    new = hlo.transpose(hlo.reshape(new, view.sizes), _outermost_first(levels, view.sizes))
    if box == (flat.numel,):
        run = hlo.reshape(new, (view.numel,))
        return hlo.dynamic_update_slice(flat, run, [_start(view.offset, flat.numel)])
    starts = _box_starts(view.offset, levels, flat.numel)
    window = hlo.reshape(new, _box_sizes(levels))
    return hlo.reshape(hlo.dynamic_update_slice(hlo.reshape(flat, box), window, starts), flat.shape)


def _scatter(flat: Value, view: View, new: Value) -> Value:
    """Run by run: the elements that are next to each other in memory are one update."""
    run, sizes, strides = _contiguous_tail(view)
    starts = View(view.dtype, sizes, strides, view.offset)
    index = _flat_index(flat.numel, starts)
    result = hlo.scatter(
        flat,
        hlo.reshape(index, (index.numel, 1)),
        hlo.reshape(new, (index.numel, run)),
        update_window_dims=(1,),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    assert isinstance(result, Value)
    return result


def _contiguous_tail(view: View) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The length of the view's contiguous last dimensions, and sizes and strides of the others."""
    run, kept = 1, len(view.sizes)
    while kept and (view.sizes[kept - 1] == 1 or view.strides[kept - 1] == run):
        kept -= 1
        run *= view.sizes[kept]
    return run, view.sizes[:kept], view.strides[:kept]


def _flat_index(extent: int, view: View) -> Value:
    """The position in the storage of each element of a view, in 32 bits when they suffice."""
    index = hlo.broadcast_to(_start(view.offset, extent), view.sizes)
    for d, stride in enumerate(view.strides):
        if view.sizes[d] > 1 and stride:
            index = index + hlo.iota(view.sizes, d, index.dtype) * stride
    return index


def _start(offset: Value | int, extent: int) -> Value:
    if isinstance(offset, Value):
        return narrow(offset, extent)
    return hlo.number(offset, index_dtype(extent))


def _box_starts(offset: Value | int, levels: list[Level], extent: int) -> list[Value]:
    """The offset in the mixed radix of the levels' strides, and what is left of it."""
    rest, starts = _start(offset, extent), []
    for level in levels:
        starts.append(hlo.div(rest, level.stride))
        rest = hlo.rem(rest, level.stride)
    return starts + [rest] if levels and levels[-1].stride != 1 else starts


def _box_sizes(levels: list[Level]) -> tuple[int, ...]:
    sizes = tuple(v.size for v in levels)
    return sizes + (1,) if levels and levels[-1].stride != 1 else sizes


def _outermost_first(levels: list[Level], sizes: tuple[int, ...]) -> list[int]:
    """Every dimension of the view, those of size 1 first, then by stride."""
    named = [v.dim for v in levels]
    return [d for d in range(len(sizes)) if d not in named] + named
