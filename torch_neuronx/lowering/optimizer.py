"""Rules for the fused optimizers: Adam, AdamW, SGD, Adagrad, one program for all parameters.

Formulas are those of ATen's native/cpu/FusedAdamKernel.cpp, FusedSGDKernel.cpp and
FusedAdagradKernel.cpp. Every hyperparameter is a run-time number, lr a number or a 0-d tensor. With
`found_inf` nothing changes; with `grad_scale` the unscaled gradients are written back, as there.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number, rule_for
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def _wide(x: Value) -> Value:
    return hlo.convert(x, compute_dtype(x.dtype))


def _scalar(x: Any) -> Value:
    """A hyperparameter, number or one-element tensor, as a 0-d float64 (as CPU's kernels hold
    it).
    """
    x = hlo.reshape(x, ()) if isinstance(x, Value) else x
    return hlo.number(x, torch.float64)


def _rest(share: Any, like: Value) -> Value:
    """1 - share, rounded once to the dtype of `like`: near 1 a rounded share leaves few digits."""
    return number(1.0 - _scalar(share), like)


def _unscaled(grad: Value, grad_scale: Value | None) -> Value:
    return grad if grad_scale is None else grad / number(_scalar(grad_scale), grad)


def _decayed(grad: Value, param: Value, weight_decay: Any) -> Value:
    """grad + weight_decay * param; exactly grad for a decay of 0, whatever the parameter is."""
    decay = number(weight_decay, param)
    return hlo.select(decay == 0, grad, grad + param * decay)


def _kept(found_inf: Value | None, new: list[Value], old: list[Value]) -> list[Value]:
    """`new` in the dtypes of `old`, or `old` itself when an infinity was found."""
    new = [hlo.convert(n, o.dtype) for n, o in zip(new, old, strict=True)]
    if found_inf is None:
        return new
    found = _scalar(found_inf) == 1
    return [
        hlo.select(hlo.broadcast_to(found, o.shape), o, n) for n, o in zip(new, old, strict=True)
    ]


def _transposed(rows: list[list[Value]], count: int) -> list[list[Value]]:
    """Per-parameter results as one list per returned argument."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


# ---- Adam --------------------------------------------------------------------------------------


def _corrections(step: Value, beta1, beta2) -> tuple[Value, Value]:
    """1 - beta1**step and sqrt(1 - beta2**step), in float64 as on CPU."""
    first, second = (1.0 - hlo.pow(_scalar(beta), _scalar(step)) for beta in (beta1, beta2))
    return first, hlo.sqrt(second)


def _adam(decoupled: bool):
    """The rule of _fused_adam, or with decoupled weight decay of _fused_adamw."""

    def one(tensors, step, lr, beta1, beta2, weight_decay, eps, maximize, grad_scale):
        param, grad, average, square = (_wide(t) for t in tensors[:4])
        unscaled = _unscaled(grad, grad_scale)
        grad = -unscaled if maximize else unscaled
        lr, eps = number(_scalar(lr), param), number(eps, param)
        if decoupled:
            param = param - lr * number(weight_decay, param) * param
        else:
            grad = _decayed(grad, param, weight_decay)
        first, second = _corrections(step, beta1, beta2)
        average = _towards(average, grad, beta1)
        square = square * number(beta2, square) + _rest(beta2, square) * grad * grad
        largest = [hlo.max(_wide(t), square) for t in tensors[4:]]
        size = hlo.sqrt((largest or [square])[0]) / number(second, square) + eps
        param = param - lr / number(first, param) * average / size
        return [param, unscaled, average, square, *largest]

    def rule(
        out,
        params,
        grads,
        averages,
        squares,
        largest,
        steps,
        *,
        lr,
        beta1,
        beta2,
        weight_decay,
        eps,
        amsgrad,
        maximize,
        grad_scale=None,
        found_inf=None,
    ):
        state = [params, grads, averages, squares] + ([largest] if amsgrad else [])
        rows = []
        for tensors, step in zip(zip(*state, strict=True), steps, strict=True):
            new = one(tensors, step, lr, beta1, beta2, weight_decay, eps, maximize, grad_scale)
            rows.append(_kept(found_inf, new, list(tensors)))
        columns = _transposed(rows, len(state))
        return columns if amsgrad else [*columns, list(largest)]

    return rule


def _towards(average: Value, grad: Value, beta: Any) -> Value:
    """beta * average + (1 - beta) * grad as a lerp from the nearer end (ATen native/Lerp.h)."""
    weight = _rest(beta, average)
    step = grad - average
    return hlo.select(weight < 0.5, average + weight * step, grad - step * (1.0 - weight))


rule_for(aten._fused_adam.default, aten._fused_adam.tensor_lr)(_adam(decoupled=False))
rule_for(aten._fused_adamw.default, aten._fused_adamw.tensor_lr)(_adam(decoupled=True))


# ---- SGD ---------------------------------------------------------------------------------------


@rule_for(aten._fused_sgd.default, aten._fused_sgd.tensor_lr)
def sgd(
    out,
    params,
    grads,
    buffers,
    *,
    weight_decay,
    momentum,
    lr,
    dampening,
    nesterov,
    maximize,
    is_first_step,
    grad_scale=None,
    found_inf=None,
):
    """Without momentum there are no buffers; the first step's buffer is the gradient itself."""
    state = [params, grads, buffers] if buffers else [params, grads]
    rows = []
    for tensors in zip(*state, strict=True):
        param, grad, *buffer = (_wide(t) for t in tensors)
        unscaled = _unscaled(grad, grad_scale)
        grad = _decayed(-unscaled if maximize else unscaled, param, weight_decay)
        if buffer:
            factor, share = number(momentum, grad), _rest(dampening, grad)
            buffer = [grad if is_first_step else buffer[0] * factor + share * grad]
            grad = grad + factor * buffer[0] if nesterov else buffer[0]
        new = [param - number(_scalar(lr), param) * grad, unscaled, *buffer]
        rows.append(_kept(found_inf, new, list(tensors)))
    columns = _transposed(rows, len(state))
    return columns if buffers else [*columns, []]


# ---- Adagrad -----------------------------------------------------------------------------------


@rule_for(aten._fused_adagrad.default, aten._fused_adagrad.tensor_lr)
def adagrad(
    out,
    params,
    grads,
    sums,
    steps,
    *,
    lr,
    lr_decay,
    weight_decay,
    eps,
    maximize,
    grad_scale=None,
    found_inf=None,
):
    rows = []
    for *tensors, step in zip(params, grads, sums, steps, strict=True):
        param, grad, squares = (_wide(t) for t in tensors)
        unscaled = _unscaled(grad, grad_scale)
        grad = _decayed(-unscaled if maximize else unscaled, param, weight_decay)
        rate = _scalar(lr) / (1.0 + (_scalar(step) - 1.0) * _scalar(lr_decay))
        squares = squares + grad * grad
        param = param - number(rate, param) * grad / (hlo.sqrt(squares) + number(eps, param))
        rows.append(_kept(found_inf, [param, unscaled, squares], list(tensors)))
    return [*_transposed(rows, 3), list(steps)]
