"""Products with a CSR pattern: sampled_addmm, and sparse.mm with another reduction than a sum."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.compressed import entries, made
from torch_neuronx.sparse.value_programs import (
    reduced_mm,
    reduced_mm_backward,
    sampled,
)

aten = torch.ops.aten


@computes("sparse_compressed", aten.sparse_sampled_addmm.default)
def sampled_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1):
    """beta * self + alpha * (mat1 @ mat2), computed at the entries of `self` only."""
    _check_sampled(self, mat1, mat2)
    at, values = entries(self)
    product = sampled(at, mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if beta != 0:
        product = values * beta + product
    return _with_values(self, product.view(self.values().shape))


def _with_values(x: Tensor, values: Tensor) -> Tensor:
    return made(x.crow_indices(), x.col_indices(), values, x.shape, torch.sparse_csr)


@computes("sparse_compressed", aten.sparse_sampled_addmm.out)
def sampled_addmm_out(self, mat1, mat2, beta, alpha, out):
    return coo.put(out, sampled_addmm(self, mat1, mat2, beta, alpha))


def _check_sampled(self: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    name = "sampled_addmm"
    if self.layout is not torch.sparse_csr:
        raise RuntimeError(f"{name}: Expected self to have CSR layout, got {self.layout}")
    if not mat1.dtype == mat2.dtype == self.dtype:
        raise RuntimeError(f"{name}: Expected all tensors to have the same dtype")
    for label, x in (("mat1", mat1), ("mat2", mat2)):
        if x.layout is not torch.strided:
            raise RuntimeError(f"{name}: Expected {label} to have strided layout, got {x.layout}")
        if x.shape[:-2] != self.shape[:-2]:
            raise RuntimeError(f"{name}: Expected {label} to have the batch dimensions of self")
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and"
            f" {mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if (mat1.shape[-2], mat2.shape[-1]) != tuple(self.shape[-2:]):
        raise RuntimeError(f"{name}: self.shape does not match the shape of the product")


@computes("sparse_compressed", aten._sparse_mm_reduce_impl.default)
def mm_reduce(self: Tensor, other: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """The reduction over each row's entries of value * other[col], zero for an empty row; for amax
    and amin, if a gradient is wanted, also which entry it was (their number for an empty row)."""
    if self.layout is not torch.sparse_csr or other.layout is not torch.strided:
        raise RuntimeError("sparse.mm with a reduction: expected a CSR matrix and a dense one")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"unsupported reduction: {reduce}; one of sum, mean, amax and amin")
    indices, values = entries(self)
    out, which = reduced_mm(indices, values, other, self.shape[0], reduce)
    wanted = reduce in ("amax", "amin") and (self.requires_grad or other.requires_grad)
    return out, which if wanted else which.new_empty(0)


@computes("sparse_compressed", aten._sparse_mm_reduce_impl_backward.default)
def mm_reduce_backward(
    self: Tensor, grad_out: Tensor, weight: Tensor, reduce: str, arg_out: Tensor, mask: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    indices, values = entries(self)
    which = arg_out if arg_out.numel() else None
    of_values, of_weight = reduced_mm_backward(indices, values, grad_out, weight, which, reduce)
    of_self = _with_values(self, of_values) if mask[0] else None
    return of_self, of_weight if mask[1] else None
