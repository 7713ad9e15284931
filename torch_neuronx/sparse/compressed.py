"""Sums and products with compressed tensors (CSR, CSC and their kin of blocks).

The compressed dimension is expanded to one number per entry, which is a search and stays on the
device; then a CSR matrix is multiplied and added as a COO one is. Results that are sparse are
compressed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.addition import add_coo
from torch_neuronx.sparse.matmul import sparse_sparse_matmul
from torch_neuronx.sparse.value_programs import scatter_at, spmm

aten = torch.ops.aten


def entries(x: Tensor) -> tuple[Tensor, Tensor]:
    """indices int64[D, nnz] and values[nnz, ...] of a compressed tensor, as COO has them."""
    if x.layout not in (torch.sparse_csr, torch.sparse_csc):
        return coo.parts(x.to_sparse())[:2]
    compressed, plain, _ = parts(x)
    return places(compressed, plain, transpose=x.layout is torch.sparse_csc), _flat_values(x)


def places(compressed: Tensor, plain: Tensor, *, transpose: bool = False) -> Tensor:
    return aten._convert_indices_from_csr_to_coo(
        compressed, plain, out_int32=False, transpose=transpose
    )


def _flat_values(x: Tensor) -> Tensor:
    return x.values().flatten(0, parts(x)[0].dim() - 1)


def parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where each compressed row begins, the other index of each entry (or block), the values."""
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return x.crow_indices(), x.col_indices(), x.values()
    return x.ccol_indices(), x.row_indices(), x.values()


def made(
    compressed: Tensor, plain: Tensor, values: Tensor, shape: Sequence[int], layout: torch.layout
) -> Tensor:
    """A compressed tensor of these parts, which are known to fit."""
    kind = {"dtype": values.dtype, "layout": layout, "device": values.device}
    return aten._sparse_compressed_tensor_unsafe(compressed, plain, values, list(shape), **kind)


def as_coo(x: Tensor) -> Tensor:
    if x.layout is torch.sparse_coo:
        return x
    indices, values = entries(x)
    return coo.made(indices, values, x.shape, coalesced=x.layout is torch.sparse_csr)


def as_layout(x: Tensor, like: Tensor) -> Tensor:
    """The COO tensor `x` in the layout, and with the blocks, of `like`."""
    if x.dim() != 2 and like.layout is not torch.sparse_coo:
        raise NotImplementedError(
            f"a sparse result in batches, {like.layout} of shape {list(x.shape)}, is not"
            " implemented on neuron; compute it for each matrix, or with to_sparse()"
        )
    if like.layout in (torch.sparse_bsr, torch.sparse_bsc):
        return x.to_sparse(layout=like.layout, blocksize=tuple(like.values().shape[-2:]))
    return x if like.layout is torch.sparse_coo else x.to_sparse(layout=like.layout)


@computes("sparse_compressed", aten.add.out)
def add_out(self: Tensor, other: Tensor, alpha: Any, out: Tensor) -> Tensor:
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: Expected input tensors to have the same shape, got {list(self.shape)} and"
            f" {list(other.shape)}"
        )
    if torch.strided in (self.layout, other.layout):
        if self.layout is not torch.strided:
            self, other = other.to(torch.result_type(self, other)) * alpha, self
            alpha = 1
        indices, values = entries(other)
        dtype = torch.result_type(self, other)
        values = values.to(dtype) if alpha == 1 else values.to(dtype) * alpha
        return coo.put(out, scatter_at(self.to(dtype), indices, values))
    return coo.put(out, as_layout(add_coo(_sorted(self), _sorted(other), alpha), self))


def _sorted(x: Tensor) -> Tensor:
    return as_coo(x).coalesce()


@computes("sparse_compressed", aten.addmm.out)
def addmm_out(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any, out: Tensor):
    """All combinations of dense and compressed matrices; a sparse result has the layout of out."""
    _check_matrices(mat1, mat2)
    product = _product(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if product.layout is torch.strided:
        if beta != 0:
            own = self if self.layout is torch.strided else self.to_dense()
            product = product + (own if beta == 1 else own * beta)
        return coo.put(out, as_layout_of_dense(product, out))
    if beta != 0 and self.layout is torch.strided:
        indices, values, _ = coo.parts(product)
        return coo.put(out, scatter_at(self * beta, indices, values))
    if beta != 0:
        product = add_coo(product, _sorted(self), beta)
    result = product.to_dense() if out.layout is torch.strided else as_layout(product, out)
    return coo.put(out, result)


def as_layout_of_dense(x: Tensor, like: Tensor) -> Tensor:
    return x if like.layout is torch.strided else x.to_sparse(layout=like.layout)


@computes("sparse_compressed", aten.addmv.out)
def addmv_out(self: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any, out: Tensor):
    column = vec.unsqueeze(1)
    _check_matrices(mat, column)
    product = _product(mat, column).squeeze(1)
    product = product if alpha == 1 else product * alpha
    return coo.put(out, product if beta == 0 else self * beta + product)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Dense where either is; otherwise COO."""
    if torch.strided not in (left.layout, right.layout):
        return sparse_sparse_matmul(as_coo(left), as_coo(right))
    sparse, dense = (left, right) if right.layout is torch.strided else (right, left.t())
    if dense.layout is not torch.strided:
        raise RuntimeError("addmm: expected at least one compressed matrix")
    indices, values = entries(sparse)
    if sparse is left:
        return spmm(indices[0], indices[1], values, dense, left.shape[0])
    return spmm(indices[1], indices[0], values, dense, right.shape[1]).t()


def _check_matrices(left: Tensor, right: Tensor) -> None:
    if left.dim() != 2 or right.dim() != 2:
        raise RuntimeError(
            f"addmm: Expected mat1 and mat2 to be 2-D, got {left.dim()}-D and {right.dim()}-D"
        )
    if left.shape[1] != right.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({left.shape[0]}x{left.shape[1]} and"
            f" {right.shape[0]}x{right.shape[1]})"
        )
    if left.dtype != right.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, got {left.dtype} and {right.dtype}"
        )
