"""Rules for softmax and log_softmax and their gradients.

bfloat16 and float16 are computed in float32 and rounded once (ATen native/cpu/SoftMaxKernel.cpp).
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import operands, rule_for, where
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def along(x: Value, dim: int, kind: str) -> Value:
    """`kind` folded over `dim` and kept as size 1; of a 0-d value the value itself."""
    return hlo.reduce(x, [dim] if x.ndim else [], kind, keepdim=True)


def shifted(x: Value, dim: int) -> Value:
    """x minus its largest element along `dim`."""
    return x - along(x, dim, "max")


@rule_for(aten._softmax.default)
def softmax(out, x, dim, half_to_float):
    weights = hlo.exp(shifted(hlo.convert(x, compute_dtype(out.dtype)), dim))
    return hlo.convert(weights / along(weights, dim, "add"), out.dtype)


@rule_for(aten._log_softmax.default)
def log_softmax(out, x, dim, half_to_float):
    x = shifted(hlo.convert(x, compute_dtype(out.dtype)), dim)
    return hlo.convert(x - hlo.log(along(hlo.exp(x), dim, "add")), out.dtype)


@rule_for(aten._safe_softmax.default)
def safe_softmax(out, x, dim, dtype=None):
    """softmax, but 0 along a row that is masked out (-inf) throughout."""
    x = hlo.convert(hlo.convert(x, out.dtype), compute_dtype(out.dtype))
    masked = along(x == float("-inf"), dim, "and")
    weights = hlo.exp(shifted(x, dim))
    weights = weights / along(weights, dim, "add")
    return hlo.convert(where(hlo.broadcast_to(masked, x.shape), 0, weights), out.dtype)


@rule_for(aten._softmax_backward_data.default)
def softmax_backward(out, grad, y, dim, input_dtype):
    grad, y = operands(out, grad, y)
    return hlo.convert((grad - along(grad * y, dim, "add")) * y, out.dtype)


@rule_for(aten._log_softmax_backward_data.default)
def log_softmax_backward(out, grad, y, dim, input_dtype):
    grad, y = operands(out, grad, y)
    return hlo.convert(grad - hlo.exp(y) * along(grad, dim, "add"), out.dtype)
