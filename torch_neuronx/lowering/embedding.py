"""Embedding lookup, its gradient, and renormalisation of the rows looked up. Bags are in
embedding_bag.py.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import checked, flatten, put, put_flat, take
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.index import narrow
from torch_neuronx.lowering.indexing import OUT_OF_RANGE
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@lowers(aten.embedding.default)
def _embedding(out, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    index = checked(indices, weight.shape[0], "IndexError", OUT_OF_RANGE, negative=False)
    return take(weight, 0, index)


@lowers(aten.embedding_dense_backward.default)
def _embedding_backward(out, grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    index = flatten(indices)
    grad = hlo.reshape(grad, (index.numel, grad.shape[-1]))
    return scatter_rows(out, grad, index, padding_idx, scale_grad_by_freq)


def scatter_rows(out, rows: Value, index: Value, padding_idx: int, by_freq: bool) -> Value:
    """A table of `out`'s shape with each row of `rows` added at its index, accumulated wide.

    Rows of `padding_idx` and of an index outside the table are left out; with `by_freq` each row is
    divided by how often its index occurs.
    """
    size, wide = out.shape[0], compute_dtype(out.dtype)
    rows = hlo.convert(rows, wide)
    kept = (index >= 0) & (index < size) & (index != padding_idx)
    index = narrow(hlo.select(kept, index, size), size)
    if by_freq:
        uses = put_flat(hlo.full((size,), 0, wide), index, hlo.full(index.shape, 1, wide), "add")
        rows = rows / hlo.expand_dims(hlo.max(take(uses, 0, index), 1.0), 1)
    return hlo.convert(put(hlo.full(out.shape, 0, wide), 0, index, rows, "add"), out.dtype)


@lowers(aten.embedding_renorm.default)
def _embedding_renorm(out, weight, indices, max_norm, norm_type):
    """Rows looked up whose norm exceeds `max_norm` are scaled down to it."""
    shape = list(weight.shape)
    message = f"select(): index {{}} out of range for tensor of size {shape} at dimension 0"
    index = flatten(indices)
    index = checked(index, weight.shape[0], "IndexError", message, negative=False, write=True)
    rows = hlo.convert(take(weight, 0, index), compute_dtype(weight.dtype))
    norm = row_norm(rows, norm_type)
    scale = hlo.select(norm > max_norm, max_norm / (norm + 1e-7), 1.0)
    scaled = hlo.convert(rows * hlo.expand_dims(scale, 1), weight.dtype)
    return put(weight, 0, index, scaled)


def row_norm(rows: Value, p: float) -> Value:
    size = hlo.abs(rows)
    if p == float("inf"):
        return hlo.reduce(size, [1], "max")
    if p == 2:
        return hlo.sqrt(hlo.reduce(size * size, [1], "add"))
    return hlo.pow(hlo.reduce(hlo.pow(size, p), [1], "add"), 1.0 / p)
