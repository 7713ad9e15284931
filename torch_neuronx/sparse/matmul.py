"""Matrix products with COO matrices.

Sparse by dense is one program: rows of the dense matrix are gathered at the columns of the
entries, scaled, and added up by the rows of the entries. Sparse by sparse unrolls, for each entry
of the left matrix, the row of the right one that it meets; the number of products and the number
of places they fall on are read by the host.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.coalescing import coalesce, ordered
from torch_neuronx.sparse.index_programs import runs, segments, unroll
from torch_neuronx.sparse.value_programs import spmm

aten = torch.ops.aten


@computes("sparse_coo", aten.addmm.default)
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """self + sparse @ dense, or dense @ sparse where the left one is dense."""
    _check_addmm(self, mat1, mat2)
    product = product_with_dense(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product.expand(torch.broadcast_shapes(self.shape, product.shape)).to(self.dtype)
    return (self if beta == 1 else self * beta) + product


@computes("sparse_coo", aten.addmm.out)
def addmm_out(self, mat1, mat2, beta, alpha, out):
    return coo.put(out, addmm(self, mat1, mat2, beta, alpha))


@computes("sparse_coo", aten.addmm_.default)
def addmm_(self, mat1, mat2, beta=1, alpha=1):
    return coo.put(self, addmm(self, mat1, mat2, beta, alpha))


def product_with_dense(left: Tensor, right: Tensor) -> Tensor:
    """Of two matrices, exactly one of which is COO."""
    if left.is_sparse:
        indices, values, sizes = coo.parts(left)
        return spmm(indices[0], indices[1], values, right, sizes[0])
    indices, values, sizes = coo.parts(right)
    return spmm(indices[1], indices[0], values, left.t(), sizes[1]).t()


def _check_addmm(self: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    sparse, dense = (mat1, mat2) if mat1.is_sparse else (mat2, mat1)
    if dense.is_sparse or self.is_sparse:
        raise RuntimeError("addmm: expected a dense tensor to add to and one dense matrix")
    if sparse.sparse_dim() != 2:
        raise RuntimeError(f"addmm: matrices expected, got {sparse.sparse_dim()}D tensor")
    if sparse.dense_dim() != 0:
        raise RuntimeError(f"addmm: scalar values expected, got {sparse.dense_dim()}D values")
    if dense.dim() != 2:
        raise RuntimeError(f"addmm: matrices expected, got {dense.dim()}D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {mat1.shape[1]}, got {mat2.shape[0]}"
        )
    if sparse.dtype != dense.dtype:
        raise RuntimeError(
            f"addmm: expected matrices of one dtype, got {mat1.dtype} and {mat2.dtype}"
        )


@computes("sparse_coo", aten.bmm.default)
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """sparse[B, M, K] @ dense[B, K, N] as one product of matrices [B * M, B * K] and [B * K, N]."""
    if mat2.is_sparse:
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    for name, x, dims in (("self", self.sparse_dim(), 3), ("mat2", mat2.dim(), 3)):
        if x != dims:
            raise RuntimeError(f"bmm_sparse: Tensor '{name}' must have 3 dims, but has {x}")
    (b, m, k), n = self.shape, mat2.shape[2]
    if mat2.shape[:2] != (b, k):
        raise RuntimeError(
            f"bmm_sparse: expected a 'mat2' of size [{b}, {k}, {n}], got {list(mat2.shape)}"
        )
    indices, values, _ = coo.parts(self)
    row, col = indices[0] * m + indices[1], indices[0] * k + indices[2]
    return spmm(row, col, values, mat2.reshape(b * k, n), b * m).view(b, m, n)


@computes("sparse_coo", aten.bmm.out)
def bmm_out(self, mat2, out):
    return coo.put(out, bmm(self, mat2))


@computes("sparse_coo", aten.hspmm.default)
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """sparse @ dense as a hybrid tensor: one sparse dimension, the rows that have entries."""
    indices, values, sizes = coo.parts(mat1)
    shape = [sizes[0], mat2.shape[1]]
    if not indices.shape[1]:
        return coo.made(indices[:1], mat2.new_zeros((0, shape[1])), shape, coalesced=True)
    order, segment, count = segments(indices[:1], sizes[:1])
    nonempty = coo.read(count)
    row = indices[0].index_select(0, order)
    at = row.new_zeros(nonempty).index_copy(0, segment, row)
    col, weight = indices[1].index_select(0, order), values.index_select(0, order)
    rows = spmm(segment, col, weight, mat2, nonempty)
    return coo.made(at.unsqueeze(0), rows, shape, coalesced=True)


@computes("sparse_coo", aten.hspmm.out)
def hspmm_out(mat1, mat2, out):
    return coo.put(out, hspmm(mat1, mat2))


@computes("sparse_coo", aten.sspaddmm.out)
def sspaddmm_out(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any, out: Tensor):
    """sparse + sparse @ dense as a sparse tensor, not coalesced: each entry meets a whole row."""
    indices, values, sizes = coo.parts(mat1)
    width = mat2.shape[1]
    row = indices[0].repeat_interleave(width, output_size=indices.shape[1] * width)
    col = torch.arange(width, device=row.device).repeat(indices.shape[1])
    products = values.unsqueeze(1) * mat2.index_select(0, indices[1]) * alpha
    place, own, _ = coo.parts(self)
    places, values = torch.stack([row, col]), products.view(-1)
    if own.shape[0]:
        places, values = torch.cat([place, places], 1), torch.cat([own * beta, values])
    return coo.put(out, coo.made(places, values, [sizes[0], width]))


@computes("sparse_coo", aten._sparse_sparse_matmul.default)
def sparse_sparse_matmul(self: Tensor, other: Tensor) -> Tensor:
    for x in (self, other):
        if x.sparse_dim() != 2 or x.dense_dim() != 0:
            raise RuntimeError("sparse_sparse_matmul: expected sparse matrices of scalar values")
    if self.shape[1] != other.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and"
            f" {other.shape[0]}x{other.shape[1]})"
        )
    if self.dtype != other.dtype:
        raise RuntimeError("sparse_sparse_matmul: expected both tensors to have the same dtype")
    left, values, _ = coo.parts(self)
    right, others, _ = ordered(other)
    shape = [self.shape[0], other.shape[1]]
    begin, end = runs(right[0].contiguous(), left[1].contiguous())
    total = coo.read(end[-1]) if end.numel() else 0
    if not total:
        return coo.made(left[:, :0], values[:0], shape, coalesced=True)
    entry, position = unroll(begin, end, total)
    row = left[0].index_select(0, entry)
    col = right[1].index_select(0, position)
    products = values.index_select(0, entry) * others.index_select(0, position)
    return coalesce(coo.made(torch.stack([row, col]), products, shape))
