"""View ops with value semantics: the result is a new value, aliasing is functionalization's
business.

In eager mode a view of a neuron tensor is metadata only and never comes here; these rules serve
graphs (torch.compile, decompositions) and the `*_copy` forms. Writes through views are in
view_updates.py.
"""

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import (
    checked,
    flatten,
    strided_index,
    take,
    take_flat,
    window_index,
)
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def clamp_slice(size: int, start: int | None, end: int | None, step: int) -> tuple[int, int, int]:
    """Python's slice bounds with `end >= start`; None and int64's maximum mean "to the end"."""
    start, end, step = slice(start, end, step).indices(size)
    return start, max(start, end), step


def move_dim(x: Value, source: int, destination: int) -> Value:
    """The dimension `source` becomes dimension `destination`, the others keep their order."""
    order = [d for d in range(x.ndim) if d != source]
    order.insert(destination, source)
    return hlo.transpose(x, order)


def split_dim(x: Value, dim: int, sizes) -> list[Value]:
    """Consecutive pieces of `x` of the given sizes along `dim`."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [hlo.slice_dim(x, dim, end - size, end) for end, size in zip(ends, sizes, strict=True)]


@lowers(aten.alias.default, aten.detach.default)
def _same(out, x):
    return x


@lowers(
    aten.view.default,
    aten.view_copy.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten._reshape_alias.default,
    aten._reshape_alias_copy.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.squeeze_copy.default,
    aten.squeeze_copy.dim,
    aten.squeeze_copy.dims,
    aten.unsqueeze.default,
    aten.unsqueeze_copy.default,
)
def _reshape(out, x, *_):
    return hlo.reshape(x, out.shape)


@lowers(aten.expand.default, aten.expand_copy.default)
def _expand(out, x, size, *, implicit=False):
    return hlo.broadcast_to(x, out.shape)


@lowers(aten.permute.default, aten.permute_copy.default)
def _permute(out, x, dims):
    return hlo.transpose(x, [wrap_dim(d, x.ndim) for d in dims])


@lowers(aten.transpose.int, aten.transpose_copy.int)
def _transpose(out, x, dim0, dim1):
    order = list(range(max(x.ndim, 1)))
    dim0, dim1 = wrap_dim(dim0, x.ndim), wrap_dim(dim1, x.ndim)
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return hlo.transpose(x, order) if x.ndim else x


@lowers(aten.t.default, aten.t_copy.default)
def _t(out, x):
    return hlo.transpose(x, [1, 0]) if x.ndim == 2 else x


@lowers(aten.select.int, aten.select_copy.int)
def _select(out, x, dim, index):
    dim = wrap_dim(dim, x.ndim)
    if isinstance(index, Value):
        return _selected(out, x, dim, index)
    index %= x.shape[dim]
    return hlo.reshape(hlo.slice_dim(x, dim, index, index + 1), out.shape)


def _selected(out, x, dim, index):
    """At a number that only the program knows."""
    message = (
        f"select(): index {{}} out of range for tensor of size {list(x.shape)} at dimension {dim}"
    )
    place = checked(index, x.shape[dim], "IndexError", message, negative=True)
    return take(x, dim, place)


@lowers(aten.slice.Tensor, aten.slice_copy.Tensor)
def _slice(out, x, dim=0, start=None, end=None, step=1):
    dim = wrap_dim(dim, x.ndim)
    if isinstance(start, Value) or isinstance(end, Value):
        return _window(x, dim, start, out.shape[dim], step)
    return hlo.slice_dim(x, dim, *clamp_slice(x.shape[dim], start, end, step))


def _window(x, dim, start, length, step):
    """`length` elements of `dim` from a start that only the program knows."""
    if not length:
        return hlo.slice_dim(x, dim, 0, 0)
    sizes = list(x.shape)
    sizes[dim] = (length - 1) * step + 1
    starts = [slice_start(start, x.shape[dim]) if d == dim else 0 for d in range(x.ndim)]
    return hlo.slice_dim(hlo.dynamic_slice(x, starts, sizes), dim, 0, sizes[dim], step)


def slice_start(start, size: int) -> Value | int:
    """Where a slice begins: None at 0, a negative start counts from the end."""
    if not isinstance(start, Value):
        return 0 if start is None else max(start + size if start < 0 else start, 0)
    start = hlo.convert(start, torch.int64)
    return hlo.select(start < 0, start + size, start)


@lowers(aten.narrow_copy.default)
def _narrow(out, x, dim, start, length):
    dim = wrap_dim(dim, x.ndim)
    start = start + x.shape[dim] if start < 0 else start
    return hlo.slice_dim(x, dim, start, start + length)


@lowers(
    aten.split.Tensor,
    aten.split_copy.Tensor,
    aten.split_with_sizes.default,
    aten.split_with_sizes_copy.default,
)
def _split(out, x, _, dim=0):
    dim = wrap_dim(dim, x.ndim)
    return split_dim(x, dim, [piece.shape[dim] for piece in out])


@lowers(aten.unbind.int, aten.unbind_copy.int)
def _unbind(out, x, dim=0):
    pieces = split_dim(x, wrap_dim(dim, x.ndim), [1] * len(out))
    return [hlo.reshape(piece, meta.shape) for piece, meta in zip(pieces, out, strict=True)]


@lowers(aten.diagonal.default, aten.diagonal_copy.default)
def _diagonal(out, x, offset=0, dim1=0, dim2=1):
    return diagonal(x, offset, dim1, dim2)


def diagonal(x: Value, offset: int, dim1: int, dim2: int) -> Value:
    """The (dim1, dim2) diagonals as the last dimension: one strided slice of the flattened
    matrices.
    """
    dim1, dim2 = wrap_dim(dim1, x.ndim), wrap_dim(dim2, x.ndim)
    batch = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    x = hlo.transpose(x, [*batch, dim1, dim2])
    rows, columns = x.shape[-2:]
    row, column, length = diagonal_start(rows, columns, offset)
    flat = hlo.reshape(x, (*x.shape[:-2], rows * columns))
    if not length:
        return hlo.slice_dim(flat, -1, 0, 0)
    start = row * columns + column
    return hlo.slice_dim(flat, -1, start, start + (length - 1) * (columns + 1) + 1, columns + 1)


def diagonal_start(rows: int, columns: int, offset: int) -> tuple[int, int, int]:
    """(first row, first column, length) of a diagonal."""
    row, column = max(-offset, 0), max(offset, 0)
    return row, column, max(min(rows - row, columns - column), 0)


@lowers(aten.unfold.default, aten.unfold_copy.default)
def _unfold(out, x, dimension, size, step):
    if x.ndim == 0:
        return hlo.reshape(x, out.shape)
    dim = wrap_dim(dimension, x.ndim)
    windows = out.shape[dim]
    if step == size or windows == 1:
        x = hlo.slice_dim(x, dim, 0, windows * size)
        x = hlo.reshape(x, (*x.shape[:dim], windows, size, *x.shape[dim + 1 :]))
    else:
        x = take(x, dim, window_index(windows, step, size, 1))
    return move_dim(x, dim + 1, x.ndim - 1)


@lowers(aten.as_strided.default, aten.as_strided_copy.default)
def _as_strided(out, x, size, stride, storage_offset=None):
    """Of a tensor that is its own contiguous storage, as functionalized graphs have it."""
    return take_flat(flatten(x), strided_index(size, stride, storage_offset or 0))


@lowers(aten.view.dtype, aten.view_copy.dtype)
def _view_dtype(out, x, dtype):
    return hlo.bitcast(x, dtype)


@lowers(aten.view_as_real.default, aten.view_as_real_copy.default)
def _view_as_real(out, x):
    parts = [hlo.reshape(part, (*x.shape, 1)) for part in (hlo.real(x), hlo.imag(x))]
    return hlo.concat(parts, x.ndim)


@lowers(aten.view_as_complex.default, aten.view_as_complex_copy.default)
def _view_as_complex(out, x):
    real, imag = split_dim(x, x.ndim - 1, [1, 1])
    return hlo.complex(hlo.reshape(real, out.shape), hlo.reshape(imag, out.shape))


@lowers(aten._conj.default, aten._conj_copy.default)
def _conj(out, x):
    return hlo.conj(x)


@lowers(aten._neg_view.default, aten._neg_view_copy.default)
def _neg_view(out, x):
    return hlo.neg(x)
