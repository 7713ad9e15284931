"""Joining, repeating, flipping and rearranging whole tensors; triangles; shuffles.

Padding is in padding.py, sliding windows in windows.py, views in views.py.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import any_true, put_flat
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.prefix import prefix_sum
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.value import LoweringError, Value

aten = torch.ops.aten


@lowers(aten.cat.default)
def _cat(out, tensors, dim=0):
    """Mixed dtypes promote; a tensor of shape (0,) joins tensors of any rank."""
    parts = [hlo.convert(t, out.dtype) for t in tensors if t.shape != (0,)]
    if not parts:
        return hlo.full(out.shape, 0, out.dtype)
    return hlo.concat(parts, wrap_dim(dim, out.ndim))


@lowers(aten.stack.default, aten._stack.default)
def _stack(out, tensors, dim=0):
    dim = wrap_dim(dim, out.ndim)
    return hlo.concat([hlo.expand_dims(hlo.convert(t, out.dtype), dim) for t in tensors], dim)


@lowers(aten._chunk_cat.default)
def _chunk_cat(out, tensors, dim, num_chunks):
    """Each tensor, padded to `num_chunks` equal chunks of `dim`, as [..., chunk, rest]; joined
    at the end.
    """
    dim = wrap_dim(dim, tensors[0].ndim)
    return hlo.concat(
        [_chunked(hlo.convert(t, out.dtype), dim, num_chunks) for t in tensors], dim + 1
    )


def _chunked(x: Value, dim: int, chunks: int) -> Value:
    size = x.shape[dim]
    high = [0] * x.ndim
    high[dim] = -size % chunks
    padded = hlo.pad(x, 0, [0] * x.ndim, high)
    return hlo.reshape(padded, (*x.shape[:dim], chunks, -1))


@lowers(aten.flip.default)
def _flip(out, x, dims):
    return hlo.reverse(x, sorted({wrap_dim(d, x.ndim) for d in dims})) if x.ndim else x


@lowers(aten.roll.default)
def _roll(out, x, shifts, dims=()):
    if not dims:
        return hlo.reshape(roll(hlo.reshape(x, (x.numel,)), shifts[0], 0), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = roll(x, shift, wrap_dim(dim, x.ndim)) if x.ndim else x
    return x


def roll(x: Value, shift: int, dim: int) -> Value:
    size = x.shape[dim]
    cut = -shift % size if size else 0
    if not cut:
        return x
    return hlo.concat([hlo.slice_dim(x, dim, cut, size), hlo.slice_dim(x, dim, 0, cut)], dim)


@lowers(aten.repeat.default)
def _repeat(out, x, repeats):
    lead = len(repeats) - x.ndim
    sizes = (1,) * lead + x.shape
    pairs = tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair)
    spread = hlo.broadcast_in_dim(x, pairs, range(2 * lead + 1, len(pairs), 2))
    return hlo.reshape(spread, out.shape)


@lowers(aten.tril.default)
def _tril(out, x, diagonal=0):
    return triangle(x, diagonal, "LE")


@lowers(aten.triu.default)
def _triu(out, x, diagonal=0):
    return triangle(x, diagonal, "GE")


def triangle(x: Value, offset: int, keep: str) -> Value:
    """The elements of each matrix whose (column - row) stands in relation `keep` to `offset`,
    else zero.
    """
    rows, columns = (hlo.iota(x.shape[-2:], d, torch.int64) for d in (0, 1))
    return hlo.select(hlo.compare(columns - rows, offset, keep), x, hlo.full(x.shape, 0, x.dtype))


@lowers(aten.pixel_shuffle.default)
def _pixel_shuffle(out, x, upscale_factor):
    *batch, channels, height, width = x.shape
    r, n = upscale_factor, len(batch)
    x = hlo.reshape(x, (*batch, channels // r**2, r, r, height, width))
    x = hlo.transpose(x, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return hlo.reshape(x, out.shape)


@lowers(aten.pixel_unshuffle.default)
def _pixel_unshuffle(out, x, downscale_factor):
    *batch, channels, height, width = x.shape
    r, n = downscale_factor, len(batch)
    x = hlo.reshape(x, (*batch, channels, height // r, r, width // r, r))
    x = hlo.transpose(x, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return hlo.reshape(x, out.shape)


@lowers(aten.channel_shuffle.default)
def _channel_shuffle(out, x, groups):
    batch, channels, *rest = x.shape
    x = hlo.reshape(x, (batch, groups, channels // groups, *rest))
    return hlo.reshape(hlo.transpose(x, [0, 2, 1, *range(3, x.ndim)]), out.shape)


def _repeats_of_any_sum(repeats, *, output_size=None):
    """The CPU's op without its check of `output_size`, which is about data."""
    return aten.repeat_interleave.Tensor(repeats)


@infers(aten.repeat_interleave.Tensor, cpu_form=_repeats_of_any_sum)
def _infer_repeat_interleave(repeats, *, output_size=None):
    if repeats.ndim != 1 or repeats.dtype not in (torch.int32, torch.int64):
        raise TypeError("the CPU kernel has the text of this refusal")
    return aten.repeat_interleave.Tensor(repeats, output_size=output_size)


@lowers(aten.repeat_interleave.Tensor)
def _repeat_interleave(out, repeats, *, output_size=None):
    """Position i of the output names how many repeat runs have ended by i. `output_size` makes
    it static.
    """
    if output_size is None:
        raise LoweringError("the shape of its result depends on the data")
    (size,) = out.shape
    repeats = hlo.convert(repeats, torch.int64)
    ends = prefix_sum(repeats, 0)
    total = hlo.reduce(repeats, [0], "add")
    check(total != size, "RuntimeError", "allocated size does not match required size")
    check(any_true(repeats < 0), "RuntimeError", "repeats can not be negative")
    ended = put_flat(
        hlo.full((size,), 0, torch.int64), ends, hlo.full(ends.shape, 1, torch.int64), "add"
    )
    return hlo.convert(prefix_sum(ended, 0), out.dtype)
