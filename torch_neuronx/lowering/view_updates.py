"""Writes through views as functions: `*_scatter`, and the gradients of views.

Each rebuilds the whole tensor with one region replaced; a contiguous region is a dynamic-update-
slice, which the compiler does in place. The reads are in views.py, writes at computed positions in
scatter.py.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, put, put_flat, strided_index, window_index
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.value import Value
from torch_neuronx.lowering.views import clamp_slice, diagonal_start, move_dim, slice_start

aten = torch.ops.aten


def zeros(out) -> Value:
    return hlo.full(out.shape, 0, out.dtype)


def pad_dim(x: Value, dim: int, low: int, high: int, step: int = 1, value=0) -> Value:
    """Constant padding of one dimension, with `step - 1` elements between neighbours."""
    lows, highs, between = [0] * x.ndim, [0] * x.ndim, [0] * x.ndim
    lows[dim], highs[dim], between[dim] = low, high, step - 1
    return hlo.pad(x, value, lows, highs, between)


def write_slice(x: Value, src: Value, dim: int, start: Any, step: int) -> Value:
    """`x` with x[..., start::step, ...] = src, as many elements of `dim` as `src` has."""
    count = src.shape[dim]
    if 0 in src.shape:
        return x
    if step == 1 or count == 1:
        return hlo.dynamic_update_slice(x, src, [start if d == dim else 0 for d in range(x.ndim)])
    high = x.shape[dim] - start - (count - 1) * step - 1
    written = pad_dim(hlo.full(src.shape, True, torch.bool), dim, start, high, step, False)
    return hlo.select(written, pad_dim(src, dim, start, high, step), x)


def write_diagonal(x: Value, src: Value, offset: int, dim1: int, dim2: int) -> Value:
    """`x` with its (dim1, dim2) diagonals, the last dimension of `src`, replaced."""
    dim1, dim2 = wrap_dim(dim1, x.ndim), wrap_dim(dim2, x.ndim)
    row, _, length = diagonal_start(x.shape[dim1], x.shape[dim2], offset)
    if not length:
        return x
    by_row = pad_dim(src, -1, row, x.shape[dim1] - row - length)
    dims = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    place = sum(d < dim1 for d in dims)
    by_row = move_dim(by_row, by_row.ndim - 1, place)
    by_row = hlo.broadcast_in_dim(by_row, x.shape, sorted([*dims, dim1]))
    rows, columns = hlo.iota(x.shape, dim1, torch.int32), hlo.iota(x.shape, dim2, torch.int32)
    return hlo.select(rows + offset == columns, by_row, x)


@lowers(aten.select_scatter.default)
def _select_scatter(out, x, src, dim, index):
    dim = wrap_dim(dim, x.ndim)
    size = x.shape[dim]
    if isinstance(index, Value):
        return write_slice(x, hlo.expand_dims(src, dim), dim, slice_start(index, size), 1)
    if not -size <= index < size:
        shape = list(x.shape)
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {shape} at dimension {dim}"
        )
    return write_slice(x, hlo.expand_dims(src, dim), dim, index % size, 1)


@lowers(aten.slice_scatter.default)
def _slice_scatter(out, x, src, dim=0, start=None, end=None, step=1):
    dim = wrap_dim(dim, x.ndim)
    if isinstance(start, Value) or isinstance(end, Value):
        begin = slice_start(start, x.shape[dim])
        if step == 1:
            return write_slice(x, src, dim, begin, 1)
        return put(x, dim, hlo.iota((src.shape[dim],), 0, torch.int64) * step + begin, src)
    start, end, step = clamp_slice(x.shape[dim], start, end, step)
    shape = list(x.shape)
    shape[dim] = -(-(end - start) // step)
    return write_slice(x, hlo.broadcast_to(src, shape), dim, start, step)


@lowers(aten.diagonal_scatter.default)
def _diagonal_scatter(out, x, src, offset=0, dim1=0, dim2=1):
    return write_diagonal(x, src, offset, dim1, dim2)


@lowers(aten.diag_embed.default)
def _diag_embed(out, x, offset=0, dim1=-2, dim2=-1):
    return write_diagonal(zeros(out), x, offset, dim1, dim2)


@lowers(aten.select_backward.default)
def _select_backward(out, grad, input_sizes, dim, index):
    dim = wrap_dim(dim, out.ndim)
    index %= out.shape[dim]
    return pad_dim(hlo.expand_dims(grad, dim), dim, index, out.shape[dim] - index - 1)


@lowers(aten.slice_backward.default)
def _slice_backward(out, grad, input_sizes, dim, start, end, step):
    dim = wrap_dim(dim, out.ndim)
    start, end, step = clamp_slice(out.shape[dim], start, end, step)
    return write_slice(zeros(out), grad, dim, start, step)


@lowers(aten.diagonal_backward.default)
def _diagonal_backward(out, grad, input_sizes, offset, dim1, dim2):
    return write_diagonal(zeros(out), grad, offset, dim1, dim2)


@lowers(aten.unfold_backward.default)
def _unfold_backward(out, grad, input_sizes, dim, size, step):
    if not out.ndim:
        return hlo.reshape(hlo.reduce(grad, None, "add"), ())
    dim = wrap_dim(dim, out.ndim)
    folded = fold(move_dim(grad, grad.ndim - 1, dim + 1), dim, out.shape[dim], step, 1)
    return hlo.broadcast_to(folded, out.shape)  # the gradient may lack a batch


# Up to so many places in a window, padding and adding them is quicker than a scatter.
_FEW = 16


def fold(x: Value, dim: int, size: int, step: int, dilation: int) -> Value:
    """The adjoint of reading windows: dimensions (windows, window) at `dim`, `dim + 1` summed into
    `size` positions of one dimension. Accumulates wide and rounds once.
    """
    windows, window = x.shape[dim : dim + 2]
    shape = (*x.shape[:dim], size, *x.shape[dim + 2 :])
    wide = hlo.convert(x, compute_dtype(x.dtype))
    total = hlo.full(shape, 0, wide.dtype)
    if window > _FEW:
        index = window_index(windows, step, window, dilation)
        return hlo.convert(put(total, dim, index, wide, "add"), x.dtype)
    for place in range(window if windows else 0):
        part = hlo.slice_dim(wide, dim + 1, place, place + 1)
        part = hlo.reshape(part, (*x.shape[: dim + 1], *x.shape[dim + 2 :]))
        start = place * dilation
        total = total + pad_dim(part, dim, start, size - start - (windows - 1) * step - 1, step)
    return hlo.convert(total, x.dtype)


@infers(aten.as_strided_scatter.default)
def _infer_as_strided_scatter(x, src, size, stride, storage_offset=None):
    """PyTorch's meta kernel takes places that are not in the storage."""
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    room = x.untyped_storage().nbytes() // x.itemsize
    if 0 not in size and (storage_offset or 0) + last >= room:
        raise RuntimeError("the CPU kernel has the text of this refusal")
    return aten.as_strided_scatter.default(x, src, size, stride, storage_offset)


@lowers(aten.as_strided_scatter.default)
def _as_strided_scatter(out, x, src, size, stride, storage_offset=None):
    """Into a tensor that is its own contiguous storage."""
    place = strided_index(size, stride, storage_offset or 0)
    return hlo.reshape(put_flat(flatten(x), place, hlo.broadcast_to(src, size)), x.shape)
