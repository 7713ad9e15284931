"""Sums of sparse tensors, and of a dense and a sparse one.

Into a dense tensor the entries are added where they are, coalesced or not: `dense + sparse`, and so
an optimizer's step with a sparse gradient, is one program and waits for nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.coalescing import coalesce
from torch_neuronx.sparse.value_programs import scatter_at

aten = torch.ops.aten


@computes("sparse_coo", aten.add.out)
def add_out(self: Tensor, other: Tensor, alpha: Any, out: Tensor) -> Tensor:
    if not self.is_sparse:
        return coo.put(out, _into_dense(self, other, alpha))
    if not other.is_sparse:
        raise RuntimeError(
            f"add: expected 'other' to be a {self.layout} tensor, but got a {other.layout} tensor"
        )
    if self.shape != other.shape:
        raise RuntimeError(
            "add: expected sizes of 'self' and 'other' to match, but"
            f" {_sizes(self)} != {_sizes(other)}"
        )
    _same_dims("add", self, other)
    return coo.put(out, add_coo(self, other, alpha))


def add_coo(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """The entries of both; coalesced where both are."""
    dtype = torch.result_type(self, other)
    (indices, values, _), (more, others, _) = coo.parts(self), coo.parts(other)
    others = others.to(dtype) if alpha == 1 else others.to(dtype) * alpha
    both = coo.made(
        torch.cat([indices, more], 1), torch.cat([values.to(dtype), others]), self.shape
    )
    return coalesce(both) if self.is_coalesced() and other.is_coalesced() else both


def _into_dense(dense: Tensor, sparse: Tensor, alpha: Any) -> Tensor:
    if not sparse.is_sparse:
        raise RuntimeError(f"add: expected 'other' to be sparse, but got {sparse.layout}")
    if dense.shape != sparse.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size"
            f" {_sizes(dense)} while other has size {_sizes(sparse)}"
            " (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    indices, values, _ = coo.parts(sparse)
    dtype = torch.result_type(dense, sparse)
    values = values.to(dtype) if alpha == 1 else values.to(dtype) * alpha
    return scatter_at(dense.to(dtype), indices, values)


def _same_dims(name: str, self: Tensor, other: Tensor) -> None:
    if (self.sparse_dim(), self.dense_dim()) != (other.sparse_dim(), other.dense_dim()):
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same number of sparse and dense"
            f" dimensions, but {self.sparse_dim()} and {self.dense_dim()} !="
            f" {other.sparse_dim()} and {other.dense_dim()}"
        )


def _sizes(x: Tensor) -> str:
    return str(list(x.shape))
