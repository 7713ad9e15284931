"""Writing single elements: scatter, scatter_add, scatter_reduce, put.

Each element of the index names one position along `dim`; the rules compute flat positions once and
fold the updates into the flat tensor, in the index's order, so that the last of several writes wins
as on CPU. Writes of whole slices are in index_update.py.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, put_flat
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.hlo.reduce import identity
from torch_neuronx.lowering.indexing import element_positions, flat_position, vector
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

COMBINERS = {
    "sum": "add",
    "add": "add",
    "mean": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
}


def targets(x: Value, dim: int, index: Value) -> tuple[Value, Value, Value]:
    """(`x` at least 1-d, the index likewise, flat positions)."""
    x, index = vector(x), vector(index)
    return x, index, element_positions(x, dim, index, write=True)


def source_like(src: Value, index: Value) -> Value:
    """The part of `src` that the index covers."""
    return hlo.slice(vector(src), [0] * index.ndim, index.shape)


def scatter(out, x, dim, index, src, combiner: str = "set") -> Value:
    x, index, position = targets(x, wrap_dim(dim, x.ndim), index)
    if combiner == "set":
        return hlo.reshape(put_flat(flatten(x), position, source_like(src, index)), out.shape)
    return hlo.reshape(
        fold_into(flatten(x), position, source_like(src, index), combiner), out.shape
    )


def fold_into(flat: Value, position: Value, updates: Value, combiner: str) -> Value:
    """put_flat that accumulates wide and rounds once."""
    dtype = flat.dtype
    wide = compute_dtype(dtype)
    flat, updates = hlo.convert(flat, wide), hlo.convert(updates, wide)
    return hlo.convert(put_flat(flat, position, updates, combiner), dtype)


@lowers(aten.scatter.src)
def _scatter(out, x, dim, index, src):
    return scatter(out, x, dim, index, src)


@lowers(aten.scatter.value, runtime=("value",))
def _scatter_value(out, x, dim, index, value):
    return scatter(out, x, dim, index, hlo.full(index.shape, value, x.dtype))


@lowers(aten.scatter.reduce)
def _scatter_combine(out, x, dim, index, src, *, reduce):
    return scatter(out, x, dim, index, src, COMBINERS[reduce])


@lowers(aten.scatter.value_reduce, runtime=("value",))
def _scatter_value_combine(out, x, dim, index, value, *, reduce):
    src = hlo.full(index.shape, value, x.dtype)
    return scatter(out, x, dim, index, src, COMBINERS[reduce])


@lowers(aten.scatter_add.default)
def _scatter_add(out, x, dim, index, src):
    return scatter(out, x, dim, index, src, "add")


@lowers(aten.scatter_reduce.two)
def _scatter_reduce(out, x, dim, index, src, reduce, *, include_self=True):
    x, index, position = targets(x, wrap_dim(dim, x.ndim), index)

    def fold(flat, updates, combiner):
        return put_flat(flat, position, updates, combiner)

    result = reduce_into(flatten(x), source_like(src, index), fold, reduce, include_self)
    return hlo.reshape(result, out.shape)


def reduce_into(x: Value, updates: Value, fold, reduce: str, include_self: bool) -> Value:
    """`x` with `updates` reduced into it by `fold(x, updates, combiner)`, which knows the
    positions.

    Without `include_self` a position that receives an update forgets its old value first.
    """
    dtype, combiner = x.dtype, COMBINERS[reduce]
    x, updates = (hlo.convert(v, compute_dtype(dtype)) for v in (x, updates))
    start = x
    if not include_self:
        neutral = hlo.full(updates.shape, identity(combiner, x.dtype), x.dtype)
        start = fold(x, neutral, "set")
    total = fold(start, updates, combiner)
    if reduce == "mean":
        total = mean_of(total, fold, updates, include_self)
    return hlo.convert(total, dtype)


def mean_of(total: Value, fold, updates: Value, include_self: bool) -> Value:
    """Sums divided by how many terms they have; integers round down."""
    counts = hlo.full(total.shape, int(include_self), total.dtype)
    counts = fold(counts, hlo.full(updates.shape, 1, total.dtype), "add")
    counts = hlo.select(counts == hlo.full(counts.shape, 0, counts.dtype), 1, counts)
    if total.dtype.is_floating_point or total.dtype.is_complex:
        return total / counts
    quotient = total / counts
    return hlo.select(total - quotient * counts < 0, quotient - 1, quotient)


@lowers(aten.put.default)
def _put(out, x, index, source, accumulate=False):
    position = flat_position(x, index, write=True)
    updates = flatten(source)
    if accumulate:
        flat = fold_into(flatten(x), flatten(position), updates, "add")
    else:
        flat = put_flat(flatten(x), position, updates)
    return hlo.reshape(flat, out.shape)
