"""Losses between an input and a target of its shape, with their gradients.

Computed in float32 for bfloat16 and float16 and rounded once. L1, KL, cosine, hinge, triplet,
Poisson and ranking losses are PyTorch's own composites; losses of class indices are in
`class_loss`.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import any_true
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.elementwise import number, rule_for
from torch_neuronx.lowering.reduction import total

aten = torch.ops.aten

NONE, MEAN, SUM = 0, 1, 2
_SMALLEST_LOG = -100.0


def reduced(loss, reduction: int, out):
    """The loss of every element as `out`: as it is, its mean or its sum."""
    if reduction != NONE:
        count = loss.numel
        loss = total(loss, list(range(loss.ndim)))
        if reduction == MEAN:
            loss = loss / (float(count) if count else hlo.full((), 0, loss.dtype))
    return hlo.convert(loss, out.dtype)


def shared(grad, reduction: int, count: int, dtype):
    """The gradient that reaches every element's loss, in `dtype`."""
    grad = hlo.convert(grad, dtype)
    return grad / float(count) if reduction == MEAN else grad


def _wide(*values):
    """All in the compute dtype of what they promote to, absent ones left out."""
    dtype = torch.result_type(*(torch.empty(1, dtype=v.dtype) for v in values[:2]))
    dtype = compute_dtype(dtype)
    return [None if v is None else hlo.convert(v, dtype) for v in values]


@rule_for(aten.mse_loss.default)
def mse_loss(out, x, target, reduction=MEAN):
    x, target = _wide(x, target)
    return reduced((x - target) * (x - target), reduction, out)


@rule_for(aten.mse_loss_backward.default)
def mse_loss_backward(out, grad, x, target, reduction):
    x, target = _wide(x, target)
    grad = shared(grad, reduction, x.numel, x.dtype)
    return hlo.convert(2.0 * (x - target) * grad, out.dtype)


@rule_for(aten.smooth_l1_loss.default)
def smooth_l1_loss(out, x, target, reduction=MEAN, beta=1.0):
    x, target = _wide(x, target)
    size = hlo.abs(x - target)
    beta = number(beta, size)
    loss = hlo.select(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)
    return reduced(loss, reduction, out)


@rule_for(aten.smooth_l1_loss_backward.default)
def smooth_l1_loss_backward(out, grad, x, target, reduction, beta):
    x, target = _wide(x, target)
    beta = number(beta, x)
    slope = _limited((x - target) / beta, x - target, beta, 1.0)
    return hlo.convert(slope * shared(grad, reduction, x.numel, x.dtype), out.dtype)


@rule_for(aten.huber_loss.default)
def huber_loss(out, x, target, reduction=MEAN, delta=1.0):
    x, target = _wide(x, target)
    size = hlo.abs(x - target)
    delta = number(delta, size)
    loss = hlo.select(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))
    return reduced(loss, reduction, out)


@rule_for(aten.huber_loss_backward.default)
def huber_loss_backward(out, grad, x, target, reduction, delta):
    x, target = _wide(x, target)
    delta = number(delta, x)
    slope = _limited(x - target, x - target, delta, delta)
    return hlo.convert(slope * shared(grad, reduction, x.numel, x.dtype), out.dtype)


def _limited(inside, distance, edge, outside):
    """`inside` between -edge and edge, -`outside` below and `outside` above."""
    above = hlo.select(distance >= edge, outside, inside)
    return hlo.select(distance <= -edge, -outside, above)


@rule_for(aten.binary_cross_entropy.default)
def binary_cross_entropy(out, x, target, weight=None, reduction=MEAN):
    x, target, weight = _wide(x, target, weight)
    for name, value in (("input", x), ("target", target)):
        outside = any_true(~((value >= 0.0) & (value <= 1.0)))
        check(outside, "RuntimeError", f"all elements of {name} should be between 0 and 1")
    miss = hlo.max(hlo.log1p(-x), _SMALLEST_LOG)
    loss = (target - 1.0) * miss - target * hlo.max(hlo.log(x), _SMALLEST_LOG)
    return reduced(loss if weight is None else loss * weight, reduction, out)


@rule_for(aten.binary_cross_entropy_backward.default)
def binary_cross_entropy_backward(out, grad, x, target, weight=None, reduction=MEAN):
    x, target, weight = _wide(x, target, weight)
    slope = (x - target) / hlo.max((1.0 - x) * x, 1e-12)
    slope = slope if weight is None else slope * weight
    return hlo.convert(slope * shared(grad, reduction, x.numel, x.dtype), out.dtype)


@rule_for(aten.binary_cross_entropy_with_logits.default)
def binary_cross_entropy_with_logits(out, x, target, weight=None, pos_weight=None, reduction=MEAN):
    x, target, weight, pos_weight = _wide(x, target, weight, pos_weight)
    softplus = hlo.log1p(hlo.exp(-hlo.abs(x))) + hlo.max(-x, 0.0)
    if pos_weight is not None:
        softplus = softplus * ((pos_weight - 1.0) * target + 1.0)
    loss = (1.0 - target) * x + softplus
    return reduced(loss if weight is None else loss * weight, reduction, out)


@rule_for(aten.soft_margin_loss.default)
def soft_margin_loss(out, x, target, reduction=MEAN):
    x, target = _wide(x, target)
    return reduced(hlo.log1p(hlo.exp(-target * x)), reduction, out)


@rule_for(aten.soft_margin_loss_backward.default)
def soft_margin_loss_backward(out, grad, x, target, reduction):
    x, target = _wide(x, target)
    odds = hlo.exp(-target * x)
    grad = shared(grad, reduction, x.numel, x.dtype)
    return hlo.convert(-target * grad * odds / (odds + 1.0), out.dtype)
