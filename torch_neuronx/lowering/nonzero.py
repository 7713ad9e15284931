"""The rule of nonzero_static, the form of nonzero whose result has a shape known beforehand."""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import put_flat
from torch_neuronx.lowering.index import index_dtype
from torch_neuronx.lowering.indexing import masked
from torch_neuronx.lowering.registry import infers, lowers

aten = torch.ops.aten


@lowers(aten.nonzero_static.default)
def _nonzero_static(out, x, *, size, fill_value=-1):
    """int64[size, ndim]: the first positions in row-major order, then rows of `fill_value`."""
    true, rank, _ = masked(x, x.shape)
    positions = hlo.iota((x.numel,), 0, index_dtype(x.numel))
    rank = hlo.select(true, rank, hlo.full(rank.shape, size, rank.dtype))
    found = put_flat(hlo.full((size,), -1, positions.dtype), rank, positions)
    columns = [
        hlo.rem(hlo.div(found, max(math.prod(x.shape[d + 1 :]), 1)), max(x.shape[d], 1))
        for d in range(x.ndim)
    ]
    if not columns:
        return hlo.full(out.shape, 0, out.dtype)
    table = hlo.convert(hlo.concat([hlo.expand_dims(c, 1) for c in columns], 1), out.dtype)
    absent = hlo.broadcast_to(hlo.expand_dims(found < 0, 1), out.shape)
    return hlo.select(absent, hlo.full(out.shape, fill_value, out.dtype), table)


@infers(aten.nonzero_static.default)
def _infer(x, *, size, fill_value=-1):
    """The meta kernel's result is transposed."""
    return x.new_empty((size, x.ndim), dtype=torch.int64)
