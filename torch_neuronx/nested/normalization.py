"""layer_norm and sums over the last dimension: one program over the rows of all items."""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.nested import parts

aten = torch.ops.aten


@computes("nested", aten.native_layer_norm.default)
def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The statistics are strided, one of each row: [rows, 1]."""
    rows = parts.buffer(input).view(-1, *normalized_shape)
    out, mean, rstd = aten.native_layer_norm(rows, normalized_shape, weight, bias, eps)
    return parts.made(out, parts.sizes(input)), mean, rstd


@computes("nested", aten.native_layer_norm_backward.default)
def layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    rows, grad = (parts.buffer(x).view(-1, *normalized_shape) for x in (input, grad_out))
    of_input, of_weight, of_bias = aten.native_layer_norm_backward(
        grad, rows, normalized_shape, mean, rstd, weight, bias, output_mask
    )
    if of_input is not None:
        of_input = parts.made(of_input, parts.sizes(input))
    return of_input, of_weight, of_bias


@computes("nested", aten.sum.dim_IntList)
def sum_last(
    self: Tensor, dim: list[int] | None, keepdim: bool, dtype: torch.dtype | None
) -> Tensor:
    if dim is None or len(dim) != 1 or dim[0] % self.dim() != self.dim() - 1:
        raise RuntimeError("NestedTensor only allows reduction of the last dimension for now.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    shapes = parts.sizes(self).clone()
    width = int(shapes[0, -1]) if shapes.shape[0] else 1
    if not bool((shapes[:, -1] == width).all()):
        raise NotImplementedError("sum over a ragged last dimension: use layout=torch.jagged")
    shapes[:, -1] = 1
    return parts.made(parts.buffer(self).view(-1, width).sum(-1, dtype=dtype), shapes)


@computes("nested", aten._nested_sum_backward.default)
def sum_backward(grad: Tensor, self: Tensor, dim: list[int] | None, keepdim: bool) -> Tensor:
    shapes = parts.sizes(self)
    width = int(shapes[0, -1]) if shapes.shape[0] else 1
    return parts.made(parts.buffer(grad).view(-1, 1).expand(-1, width).contiguous(), shapes)
