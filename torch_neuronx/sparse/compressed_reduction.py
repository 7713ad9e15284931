"""Reductions of CSR matrices: sums and products along rows and columns."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.compressed import entries
from torch_neuronx.sparse.index_programs import segments
from torch_neuronx.sparse.value_programs import merge, merge_by

aten = torch.ops.aten


@computes("sparse_compressed", aten._sparse_csr_sum.dim_dtype)
def csr_sum(self: Tensor, dim: list[int], keepdim: bool, dtype: torch.dtype | None) -> Tensor:
    return _reduce(self, dim, keepdim, dtype, lambda *parts: merge(*parts))


@computes("sparse_compressed", aten._sparse_csr_prod.dim_dtype)
def csr_prod(self: Tensor, dim: list[int], keepdim: bool, dtype: torch.dtype | None) -> Tensor:
    """The product of the entries: what is absent counts as absent, not as zero."""
    return _reduce(self, dim, keepdim, dtype, lambda *parts: merge_by(*parts, "prod"))


def _reduce(
    self: Tensor, dim: list[int], keepdim: bool, dtype: torch.dtype | None, merged: Callable
) -> Tensor:
    """A CSR matrix whose reduced dimensions have size 1, with entries where `self` has any."""
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if self.layout is not torch.sparse_csr or self.dim() != 2:
        raise RuntimeError(f"reductions by dimension need a CSR matrix, got {self.layout}")
    reduced = {d % 2 for d in (dim or (0, 1))}
    shape = [1 if d in reduced else size for d, size in enumerate(self.shape)]
    indices, values = entries(self)
    values = values.to(dtype or _summed(values.dtype))
    if not values.shape[0]:
        return coo.made(indices, values, shape, coalesced=True).to_sparse_csr()
    indices = torch.stack([i * 0 if d in reduced else i for d, i in enumerate(indices)])
    order, segment, count = segments(indices, shape)
    indices, values = merged(indices, values, order, segment, coo.read(count))
    return coo.made(indices, values, shape, coalesced=True).to_sparse_csr()


def _summed(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64
