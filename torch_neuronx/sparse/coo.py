"""What the kernels of COO tensors share: their parts, tensors made of parts, results for out=."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

aten = torch.ops.aten


def parts(x: Tensor) -> tuple[Tensor, Tensor, list[int]]:
    """indices[D, nnz], values[nnz, ...] and the D sizes that are indexed."""
    return aten._indices(x), aten._values(x), list(x.shape[: x.sparse_dim()])


def made(
    indices: Tensor, values: Tensor, shape: Sequence[int], *, coalesced: bool = False
) -> Tensor:
    """A COO tensor of these parts, which are known to fit."""
    return aten._sparse_coo_tensor_unsafe(
        indices, values, list(shape), layout=torch.sparse_coo, is_coalesced=coalesced
    )


def put(out: Tensor, result: Tensor) -> Tensor:
    """`out` becomes `result`, in its own dtype. Raises as PyTorch does where that loses a kind."""
    if not torch.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"result type {name_of(result.dtype)} can't be cast to the desired output type"
            f" {name_of(out.dtype)}"
        )
    if out is result:
        return out
    if result.layout is torch.sparse_coo and out.layout is torch.sparse_coo:
        aten.sparse_resize_and_clear_(out, result.shape, result.sparse_dim(), result.dense_dim())
        return aten.copy_sparse_to_sparse_(out, result)
    if out.layout is not torch.strided:
        aten.resize_as_sparse_(out, result)
    elif out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def name_of(dtype: torch.dtype) -> str:
    """As PyTorch's errors call it: torch.float32 is "Float"."""
    return torch.empty(0, dtype=dtype).type().removeprefix("torch.").removesuffix("Tensor")


def read(count: Tensor) -> int:
    """A number that a shape depends on, read by the host: the one wait of such an operator."""
    return int(count.item())
