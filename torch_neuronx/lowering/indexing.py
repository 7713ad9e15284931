"""Reading by index tensors: advanced indexing, index_select, gather, take, and masked ops of
static shapes.

Writes are in index_update.py and scatter.py, embeddings in embedding.py. `index` itself is in
masks.py, with what is selected by masks.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import (
    checked,
    flatten,
    linear,
    narrow,
    put_flat,
    take,
    take_flat,
    wrapped,
)
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.counted import masked
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

OUT_OF_BOUNDS = "index {{}} is out of bounds for dimension {dim} with size {size}"
OUT_OF_RANGE = "index out of range in self"


def is_mask(index: Value | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)


class Addressed(NamedTuple):
    """What a list of index tensors addresses: broadcast indices, their dimensions, where the
    result has them.
    """

    positions: list[Value]
    dims: list[int]
    place: int


def address(
    x: Value,
    indices: Sequence[Value | None],
    *,
    safe: Container[int] = (),
    write: bool = False,
) -> Addressed:
    """PyTorch's advanced indexing: index tensors broadcast together; their dimensions stand
    where the first one does if the indexed dimensions are adjacent, else in front. `safe`
    indices are not checked.
    """
    dims = [d for d, index in enumerate(indices) if index is not None]
    tensors = [index for index in indices if index is not None]
    shape = tuple(torch.broadcast_shapes(*(t.shape for t in tensors)))
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    index = [
        hlo.broadcast_to(_position(t, x.shape[d], nth, d in safe, write), shape)
        for nth, (t, d) in enumerate(zip(tensors, dims, strict=True))
    ]
    return Addressed(index, dims, dims[0] if adjacent else 0)


def _position(index: Value, size: int, nth: int, safe: bool, write: bool) -> Value:
    """CPU's message numbers a dimension among the indexed ones, so it names `nth`."""
    if safe:
        return narrow(wrapped(hlo.convert(index, torch.int64), size), size)
    message = OUT_OF_BOUNDS.format(dim=nth, size=size)
    return checked(index, size, "IndexError", message, negative=True, write=write)


def vector(x: Value) -> Value:
    """A 0-d value as 1-d, as the index ops treat it."""
    return hlo.reshape(x, (1,)) if x.ndim == 0 else x


@lowers(aten.index_select.default)
def _index_select(out, x, dim, index):
    dim = wrap_dim(dim, x.ndim)
    x = vector(x)
    size = x.shape[dim]
    index = checked(vector(index), size, *select_error(dim, size), negative=False)
    return hlo.reshape(take(x, dim, index), out.shape)


def select_error(dim: int, size: int) -> tuple[str, str]:
    """CPU checks an index of dimension 0 and of the others in different kernels, with these
    texts.
    """
    if dim == 0:
        return "IndexError", OUT_OF_RANGE
    return "RuntimeError", f"INDICES element is out of DATA bounds, id={{}} axis_dim={size}"


def element_positions(x: Value, dim: int, index: Value, *, write: bool = False) -> Value:
    """Flat positions in `x` that gather and scatter address along `dim`, checked."""
    size = x.shape[dim]
    message = OUT_OF_BOUNDS.format(dim=dim, size=size)
    index = checked(index, size, "RuntimeError", message, negative=False, write=write)
    return linear(index, x.shape, dim)


@lowers(aten.gather.default)
def _gather(out, x, dim, index, *, sparse_grad=False):
    dim = wrap_dim(dim, x.ndim)
    x, index = vector(x), vector(index)
    return hlo.reshape(take_flat(flatten(x), element_positions(x, dim, index)), out.shape)


@lowers(aten.take.default)
def _take(out, x, index):
    return take_flat(flatten(x), flat_position(x, index))


def flat_position(x: Value, index: Value, *, write: bool = False) -> Value:
    """Positions for take and put, which see any tensor as flat."""
    message = f"out of range: tried to access index {{}} on a tensor of {x.numel} elements."
    return checked(index, x.numel, "IndexError", message, negative=True, write=write)


@lowers(aten.masked_scatter.default)
def _masked_scatter(out, x, mask, source):
    """The n-th true position takes the n-th element of `source`."""
    x = hlo.broadcast_to(x, out.shape)
    true = masked(mask, out.shape)
    failed = true.size > source.numel
    check(failed, "RuntimeError", "Number of elements of source < number of ones in mask")
    values = take_flat(flatten(source), true.rank) if source.numel else flatten(x)
    return hlo.select(
        hlo.reshape(true.mask & ~failed, out.shape), hlo.reshape(values, out.shape), x
    )


@lowers(aten.masked_scatter_backward.default)
def _masked_scatter_backward(out, grad, mask, sizes):
    """The gradients under the mask, packed to the front of a tensor of `sizes`."""
    true = masked(mask, grad.shape)
    nowhere = hlo.full(true.rank.shape, max(out.numel, 1), true.rank.dtype)
    place = hlo.select(true.mask, true.rank, nowhere)
    packed = put_flat(hlo.full((out.numel,), 0, out.dtype), place, flatten(grad))
    return hlo.reshape(packed, out.shape)
