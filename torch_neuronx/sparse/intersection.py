"""Products element by element, and masks: what is computed where two patterns meet.

A sparse tensor by a dense one keeps its pattern. Two sparse ones meet where both have an entry; how
often they do is read by the host.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.coalescing import ordered
from torch_neuronx.sparse.index_programs import find
from torch_neuronx.sparse.value_programs import columns, gather_at, lookup

aten = torch.ops.aten


@computes("sparse_coo", aten.mul.out)
def mul_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    if not self.is_sparse or not other.is_sparse:
        sparse, dense = (self, other) if self.is_sparse else (other, self)
        return coo.put(out, _by_dense(sparse, dense))
    if self.shape != other.shape:
        raise RuntimeError(
            "mul: expects sparse inputs with equal dimensionality, number of sparse dimensions, and"
            f" shape of sparse dimensions, got {list(self.shape)} and {list(other.shape)}"
        )
    return coo.put(out, _by_sparse(self, other))


def _by_dense(sparse: Tensor, dense: Tensor) -> Tensor:
    if dense.dim() == 0:
        indices, values, _ = coo.parts(sparse)
        return coo.made(indices, values * dense, sparse.shape, coalesced=sparse.is_coalesced())
    shape = torch.broadcast_shapes(sparse.shape, dense.shape)
    if shape != sparse.shape:
        sparse = aten._sparse_broadcast_to(sparse, shape)
    indices, values, _ = coo.parts(sparse)
    values = values * gather_at(dense.expand(shape), indices)
    return coo.made(indices, values, shape, coalesced=sparse.is_coalesced())


def _by_sparse(self: Tensor, other: Tensor) -> Tensor:
    indices, values, sizes = ordered(self)
    more, others, _ = ordered(other)
    if values.dim() != others.dim():
        raise RuntimeError("mul: expected 'self' and 'other' to have as many sparse dimensions")
    dtype = torch.result_type(self, other)
    if not indices.shape[1] or not more.shape[1]:
        empty = values.new_zeros((0, *values.shape[1:]), dtype=dtype)
        return coo.made(indices[:, :0], empty, self.shape, coalesced=True)
    position, found = find(more, indices, sizes)
    kept = torch.nonzero_static(found, size=coo.read(found.sum())).view(-1)
    product = values.index_select(0, kept) * others.index_select(0, position.index_select(0, kept))
    return coo.made(columns(indices, kept), product.to(dtype), self.shape, coalesced=True)


@computes("sparse_coo", aten.sparse_mask.default)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The values of `self`, dense or sparse, in the pattern of `mask`."""
    if not mask.is_sparse:
        raise RuntimeError(f"sparse_mask(): expected a sparse mask, got {mask.layout}")
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)}"
            f" but mask has size {list(mask.shape)}"
        )
    if self is mask:
        return self
    at, _, _ = coo.parts(mask)
    if self.is_sparse:
        indices, values, sizes = ordered(self)
        values = lookup(indices, values, at, sizes)
    else:
        values = gather_at(self, at)
    return coo.made(at, values, mask.shape, coalesced=mask.is_coalesced())


@computes("sparse_coo", aten._sparse_mask_projection.default)
def mask_projection(self: Tensor, mask: Tensor, accumulate_matches: bool = False) -> Tensor:
    """`self` with zero where `mask` has no entry. With `accumulate_matches` a value counts as often
    as the mask has its place."""
    at, values, _ = coo.parts(self)
    indices, ones, sizes = coo.parts(mask)
    ones = torch.ones(
        (ones.shape[0], *[1] * (values.dim() - 1)), dtype=values.dtype, device=values.device
    )
    indices, times, sizes = ordered(coo.made(indices, ones, [*sizes, *ones.shape[1:]]))
    if not accumulate_matches:
        times = torch.ones_like(times)
    values = values * lookup(indices, times, at, sizes)
    return coo.made(at, values, self.shape, coalesced=self.is_coalesced())
