"""Rules for the gradients of activation functions, in the order of `activation`.

Formulas are those of ATen's native/cpu/Activation.cpp; boundaries belong to the branch they have
there.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.activation import (
    GELU_BETA,
    GELU_KAPPA,
    gelu_inner,
    halves,
    normal_cdf,
    sigmoid,
    within,
)
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.complex import conjugate
from torch_neuronx.lowering.elementwise import number, operands, pointwise, rule_for, where

aten = torch.ops.aten


@rule_for(aten.gelu_backward.default)
def gelu_backward(out, grad, x, *, approximate="none"):
    grad, x = operands(out, grad, x)
    slope = _gelu_slope_tanh(x) if approximate == "tanh" else _gelu_slope(x)
    return hlo.convert(grad * slope, out.dtype)


def _gelu_slope(x):
    density = hlo.exp(x * x * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
    return normal_cdf(x) + x * density


def _gelu_slope_tanh(x):
    tanh = hlo.tanh(gelu_inner(x))
    inner_slope = (x * x * (3.0 * GELU_KAPPA) + 1.0) * GELU_BETA
    return (tanh + 1.0) * 0.5 + x * 0.5 * (1.0 - tanh * tanh) * inner_slope


@pointwise(aten.sigmoid_backward.default)
def sigmoid_backward(grad, y):
    return grad * conjugate((number(1, y) - y) * y)


@pointwise(aten.tanh_backward.default)
def tanh_backward(grad, y):
    return grad * conjugate(number(1, y) - y * y)


@pointwise(aten.silu_backward.default)
def silu_backward(grad, x):
    gate = sigmoid(x)
    return grad * gate * (x * (1.0 - gate) + 1.0)


@pointwise(aten.mish_backward.default)
def mish_backward(grad, x):
    tanh = hlo.tanh(hlo.log1p(hlo.exp(x)))
    return grad * (tanh + x * sigmoid(x) * (1.0 - tanh * tanh))


@pointwise(aten.hardswish_backward.default)
def hardswish_backward(grad, x):
    middle = hlo.select(x < 3.0, grad * (x / 3.0 + 0.5), grad)
    return where(x <= -3.0, 0, middle)


# PyTorch's kernels write it as a float32, also for float64.
_SIXTH = torch.tensor(1 / 6, dtype=torch.float32).item()


@pointwise(aten.hardsigmoid_backward.default)
def hardsigmoid_backward(grad, x):
    return where((x > -3.0) & (x < 3.0), grad * _SIXTH, number(0, x))


@pointwise(aten.hardtanh_backward.default)
def hardtanh_backward(grad, x, low, high):
    return where((x <= low) | (x >= high), 0, grad)


@rule_for(aten.leaky_relu_backward.default)
def leaky_relu_backward(out, grad, x, slope, self_is_result):
    """The sign of input and result agree, so `self_is_result` changes nothing."""
    grad, x, slope = operands(out, grad, x, slope)
    return hlo.convert(hlo.select(x > 0, grad, grad * slope), out.dtype)


@rule_for(aten.elu_backward.default)
def elu_backward(out, grad, alpha, scale, input_scale, is_result, x):
    """`x` is elu's result when is_result, else its input."""
    grad, alpha, scale, input_scale, x = operands(out, grad, alpha, scale, input_scale, x)
    height = alpha * scale
    below = x + height if is_result else height * hlo.exp(x * input_scale)
    slope = hlo.select(x <= 0, input_scale * below, scale)
    return hlo.convert(grad * slope, out.dtype)


@pointwise(aten.softplus_backward.default)
def softplus_backward(grad, x, beta, threshold):
    z = hlo.exp(x * beta)
    return hlo.select(x * beta > threshold, grad, grad * z / (z + 1.0))


@pointwise(aten.threshold_backward.default)
def threshold_backward(grad, x, limit):
    return where(x <= limit, 0, grad)


@rule_for(aten._prelu_kernel_backward.default)
def prelu_backward(out, grad, x, weight):
    """Gradients of the input and, not yet summed to its shape, of the weight."""
    grad, x, weight = operands(out[0], grad, x, weight)
    of_input = hlo.select(x > 0, grad, grad * weight)
    of_weight = where(x > 0, 0, grad * x)
    return hlo.convert(of_input, out[0].dtype), hlo.convert(of_weight, out[1].dtype)


@pointwise(aten.softshrink_backward.default, aten.hardshrink_backward.default)
def shrink_backward(grad, x, lambd):
    return where(within(x, lambd), 0, grad)


@rule_for(aten.glu_backward.default)
def glu_backward(out, grad, x, dim):
    (x,) = operands(out, x)
    value, gate = halves(x, dim)
    gate, grad = sigmoid(gate), hlo.convert(grad, x.dtype)
    of_gate = (1.0 - gate) * gate * grad * value
    return hlo.convert(hlo.concat([gate * grad, of_gate], dim), out.dtype)


@rule_for(aten.glu_jvp.default)
def glu_jvp(out, y, x, dx, dim):
    """The derivative of y = a sigmoid(b) along dx = (da, db)."""
    gate = sigmoid(hlo.convert(halves(x, dim)[1], compute_dtype(out.dtype)))
    y, da, db = operands(out, y, *halves(dx, dim))
    return hlo.convert(da * gate + y * (db - gate * db), out.dtype)


@rule_for(aten.glu_backward_jvp.default)
def glu_backward_jvp(out, grad_x, grad, x, dgrad, dx, dim):
    """The derivative of glu's gradient `grad_x` along `dgrad` and `dx`."""
    dtype = compute_dtype(out.dtype)
    grad_x, grad, x, dgrad, dx = (hlo.convert(v, dtype) for v in (grad_x, grad, x, dgrad, dx))
    (value, gate), (da, db) = halves(x, dim), halves(dx, dim)
    gate = sigmoid(gate)
    turn = db - gate * db
    of_value, of_gate = halves(grad_x, dim)
    first = of_value * turn + dgrad * gate
    bend = of_gate * turn - of_gate * gate * db
    second = bend + (da * grad + dgrad * value) * gate * (1.0 - gate)
    return hlo.convert(hlo.concat([first, second], dim), out.dtype)


@rule_for(aten.log_sigmoid_backward.default)
def log_sigmoid_backward(out, grad, x, buffer):
    """`buffer` is exp(-|x|), kept by log_sigmoid_forward."""
    grad, x, buffer = operands(out, grad, x, buffer)
    share = buffer / (buffer + 1.0)
    slope = hlo.select(x < 0, 1.0 - share, share)
    return hlo.convert(grad * slope, out.dtype)


@rule_for(aten.logit_backward.default)
def logit_backward(out, grad, x, eps=None):
    """grad / (x (1 - x)) inside [eps, 1 - eps], 0 outside; without eps NaN outside [0, 1]."""
    grad, x = operands(out, grad, x)
    low = number(0.0 if eps is None else eps, x)
    outside = (x < low) | (x > 1.0 - low)
    slope = grad / (x * (1.0 - x))
    return hlo.convert(where(outside, math.nan if eps is None else 0.0, slope), out.dtype)


@rule_for(aten.rrelu_with_noise_backward.default)
def rrelu_backward(out, grad, x, noise, lower, upper, training, self_is_result):
    """With the noise of the forward pass in training, else leaky_relu's with the mean slope."""
    grad, x, noise, lower, upper = operands(out, grad, x, noise, lower, upper)
    leaky = hlo.select(x > 0, grad, grad * ((lower + upper) / 2.0))
    if training:
        leaky = hlo.select(upper - lower > 1e-6, grad * noise, leaky)
    return hlo.convert(leaky, out.dtype)


@rule_for(aten.native_dropout_backward.default, aten._masked_scale.default)
def dropout_backward(out, grad, mask, scale):
    grad, mask, scale = operands(out, grad, mask, scale)
    return hlo.convert(grad * mask * scale, out.dtype)
