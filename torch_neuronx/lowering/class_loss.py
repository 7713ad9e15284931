"""Losses whose target is a class index: negative log likelihood and margin losses, and gradients.

A target out of range fails the program's check with PyTorch CPU's text. Cross entropy, with or
without label smoothing, is PyTorch's own composite over these.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import checked, flatten, linear, take_flat
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number, rule_for
from torch_neuronx.lowering.loss import MEAN, NONE, reduced, shared
from torch_neuronx.lowering.reduction import total

aten = torch.ops.aten


@rule_for(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss(out, x, target, weight, reduction, ignore_index):
    """x is [N, C, ...] (or [C]), target [N, ...] -> (loss, sum of the weights counted)."""
    shape = _classes_second(x.shape)
    dtype = compute_dtype(x.dtype)
    target, counted = _targets(target, shape, ignore_index)
    picked = take_flat(flatten(hlo.convert(x, dtype)), linear(target, shape, 1))
    weights = _class_weight(weight, target, counted, dtype)
    loss = hlo.select(counted, -picked * weights, 0.0)
    if reduction == NONE and x.ndim > 1:
        loss = hlo.reshape(loss, out[0].shape)
        return hlo.convert(loss, out[0].dtype), hlo.full((), 0, out[1].dtype)
    weight_sum, loss = total(weights, [0, 1, 2]), total(loss, [0, 1, 2])
    loss = loss / weight_sum if reduction == MEAN else loss
    return hlo.convert(loss, out[0].dtype), hlo.convert(weight_sum, out[1].dtype)


@rule_for(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(out, grad, x, target, weight, reduction, ignore_index, total_weight):
    shape = _classes_second(x.shape)
    dtype = compute_dtype(x.dtype)
    target, counted = _targets(target, shape, ignore_index)
    grad = hlo.convert(grad, dtype)
    if reduction == NONE:
        grad = hlo.reshape(grad, target.shape)
    if reduction == MEAN:
        grad = grad / hlo.convert(total_weight, dtype)
    slope = hlo.select(counted, -grad * _class_weight(weight, target, counted, dtype), 0.0)
    here = hlo.iota(shape, 1, target.dtype) == target
    return hlo.convert(hlo.reshape(hlo.select(here, slope, 0.0), x.shape), out.dtype)


def _classes_second(shape) -> tuple[int, int, int]:
    """[N, C, pixels] of an input [C], [N, C] or [N, C, ...]."""
    if len(shape) == 1:
        return 1, shape[0], 1
    return shape[0], shape[1], math.prod(shape[2:])


def _targets(target, shape, ignore_index: int):
    """Class indices [N, 1, pixels] fit to be read with, and which of them count."""
    n, classes, pixels = shape
    target = hlo.convert(hlo.reshape(target, [n, 1, pixels]), torch.int64)
    counted = target != ignore_index
    target = hlo.select(counted, target, 0)
    message = "Target {} is out of bounds."
    return checked(target, classes, "IndexError", message, negative=False), counted


def _class_weight(weight, target, counted, dtype):
    """The weight of every target's class, 0 where it does not count."""
    if weight is None:
        return hlo.convert(counted, dtype)
    return hlo.select(counted, take_flat(hlo.convert(weight, dtype), target), 0.0)


@rule_for(aten.multi_margin_loss.default, static=("p",))
def multi_margin_loss(out, x, target, p=1, margin=1, weight=None, reduction=MEAN):
    """Mean over the classes j other than t of weight[t] * max(0, margin - x[t] + x[j])**p."""
    x, target, other = _rows(x, target)
    slack = _slack(x, target, margin)
    slack = slack if p == 1 else slack * slack
    slack = hlo.select(other, slack, 0.0) * _row_weight(weight, target, x.dtype)
    loss = hlo.reduce(slack, [1], "add") / float(x.shape[1])
    return reduced(hlo.reshape(loss, out.shape) if reduction == NONE else loss, reduction, out)


@rule_for(aten.multi_margin_loss_backward.default, static=("p",))
def multi_margin_loss_backward(out, grad, x, target, p, margin, weight=None, reduction=MEAN):
    x, target, other = _rows(x, target)
    slack = _slack(x, target, margin)
    slope = hlo.convert(slack > 0.0, x.dtype) if p == 1 else 2.0 * slack
    slope = hlo.select(other, slope, 0.0) * _row_weight(weight, target, x.dtype)
    slope = hlo.select(other, slope, -hlo.reduce(slope, [1], "add", keepdim=True))
    grad = shared(_per_row(grad, x), reduction, x.shape[0], x.dtype)
    return hlo.convert(hlo.reshape(slope * grad / float(x.shape[1]), out.shape), out.dtype)


def _rows(x, target):
    """x as [N, C] in its compute dtype, target as [N, 1], and which classes are not the target."""
    x = _as_rows(x)
    target = hlo.reshape(target, [x.shape[0], 1])
    target = checked(target, x.shape[1], "RuntimeError", "target out of range", negative=False)
    return x, target, hlo.iota(x.shape, 1, target.dtype) != target


def _as_rows(x):
    """[N, C] in the compute dtype; of one class where `x` has no dimension."""
    shape = x.shape if x.ndim == 2 else (1, x.numel)
    return hlo.reshape(hlo.convert(x, compute_dtype(x.dtype)), shape)


def _slack(x, target, margin):
    picked = take_flat(flatten(x), linear(target, x.shape, 1))
    return hlo.max(number(margin, x) - picked + x, 0.0)


def _row_weight(weight, target, dtype):
    return 1.0 if weight is None else take_flat(hlo.convert(weight, dtype), target)


def _per_row(grad, x):
    return hlo.reshape(grad, [x.shape[0], 1]) if grad.ndim and grad.numel > 1 else grad


@rule_for(aten.multilabel_margin_loss_forward.default)
def multilabel_margin_loss(out, x, target, reduction):
    """Each row's targets end at the first -1 -> (loss, is_target): how far others come within 1."""
    x, _, is_target, slack = _label_pairs(x, target)
    loss = hlo.reduce(slack, [1, 2], "add") / float(x.shape[1])
    loss = hlo.reshape(loss, out[0].shape) if reduction == NONE else loss
    flags = hlo.reshape(hlo.convert(is_target, out[1].dtype), out[1].shape)
    return reduced(loss, reduction, out[0]), flags


@rule_for(aten.multilabel_margin_loss_backward.default)
def multilabel_margin_loss_backward(out, grad, x, target, reduction, is_target):
    x, labels, _, slack = _label_pairs(x, target)
    active = hlo.convert(slack > 0.0, x.dtype)
    pull = hlo.reduce(active, [2], "add", keepdim=True)
    slope = hlo.reduce(active - hlo.convert(labels, x.dtype) * pull, [1], "add")
    grad = shared(_per_row(grad, x), reduction, x.shape[0], x.dtype)
    return hlo.convert(hlo.reshape(slope * grad / float(x.shape[1]), out.shape), out.dtype)


def _label_pairs(x, target):
    """x[N, C]; labels[N, k, C]: the k-th target is class j; is_target[N, C]; slack[N, k, j]."""
    x = _as_rows(x)
    n, classes = x.shape
    target = hlo.convert(hlo.reshape(target, x.shape), torch.int64)
    place = hlo.iota(x.shape, 1, torch.int64)
    end = hlo.reduce(hlo.select(target < 0, place, classes), [1], "min", keepdim=True)
    listed = place < end
    _in_range(target, classes)
    at = hlo.reshape(hlo.select(listed, target, -1), [n, classes, 1])
    labels = hlo.iota((n, classes, classes), 2, torch.int64) == at
    is_target = hlo.reduce(labels, [1], "or")
    row = hlo.reshape(x, [n, 1, classes])
    picked = hlo.reduce(hlo.select(labels, row, 0.0), [2], "add", keepdim=True)
    counts = hlo.reshape(listed, [n, classes, 1]) & ~hlo.reshape(is_target, [n, 1, classes])
    slack = hlo.select(counts, hlo.max(1.0 - picked + row, 0.0), 0.0)
    return x, labels, is_target, slack


def _in_range(target, classes: int) -> None:
    """Fails the program's check unless every target is -1 or a class."""
    message = "argument #2 'target' is out of range"
    checked(target + 1, classes + 1, "RuntimeError", message, negative=False)
