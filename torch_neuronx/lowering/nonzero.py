"""nonzero, and nonzero_static, the form of it whose result has a shape known beforehand."""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import put_flat
from torch_neuronx.lowering.counted import Counted, masked
from torch_neuronx.lowering.index import index_dtype
from torch_neuronx.lowering.registry import bounds, infers, lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@lowers(aten.nonzero_static.default)
def _nonzero_static(out, x, *, size, fill_value=-1):
    """int64[size, ndim]: the first positions in row-major order, then rows of `fill_value`."""
    true = masked(x, x.shape)
    positions = hlo.iota((x.numel,), 0, index_dtype(x.numel))
    rank = hlo.select(true.mask, true.rank, hlo.full((x.numel,), size, true.rank.dtype))
    found = put_flat(hlo.full((size,), -1, positions.dtype), rank, positions)
    if not x.ndim:
        return hlo.full(out.shape, 0, out.dtype)
    table = _table(found, x.shape)
    absent = hlo.broadcast_to(hlo.expand_dims(found < 0, 1), out.shape)
    return hlo.select(absent, hlo.full(out.shape, fill_value, out.dtype), table)


def _table(flat: Value, shape: tuple[int, ...]) -> Value:
    """int64[n, ndim]: flat row-major positions as coordinates."""
    columns = [
        hlo.rem(hlo.div(flat, max(math.prod(shape[d + 1 :]), 1)), max(n, 1))
        for d, n in enumerate(shape)
    ]
    return hlo.convert(hlo.concat([hlo.expand_dims(c, 1) for c in columns], 1), torch.int64)


@bounds(aten.nonzero.default)
def _bounds(x):
    """As on the CPU, a column is contiguous."""
    shape, strides = (x.numel(), x.ndim), (1, x.numel())
    return x.new_empty_strided(shape, strides, dtype=torch.int64)


@lowers(aten.nonzero.default)
def _nonzero(out, x):
    if not x.numel:
        return hlo.full(out.shape, 0, out.dtype)
    found = masked(x, x.shape)
    if not x.ndim:
        return Counted(hlo.full(out.shape, 0, out.dtype), found.size)
    positions = found.pack(hlo.iota((x.numel,), 0, index_dtype(x.numel)))
    return Counted(_table(positions.value, x.shape), positions.count)


@infers(aten.nonzero_static.default)
def _infer(x, *, size, fill_value=-1):
    """The meta kernel's result is transposed."""
    return x.new_empty((size, x.ndim), dtype=torch.int64)
