"""Rules for activation functions. Their gradients are in `activation_backward`, softmax in
`softmax`.

Formulas are those of ATen's native/cpu/Activation.cpp; every parameter is a run-time number.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import complex_functions, hlo
from torch_neuronx.lowering.elementwise import (
    number,
    operands,
    pointwise,
    promoted_operands,
    quotient,
    rule_for,
    where,
)
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

# gelu's tanh form: sqrt(2 / pi) and the cubic's weight (Hendrycks and Gimpel, 2016).
GELU_BETA = math.sqrt(2.0 / math.pi)
GELU_KAPPA = 0.044715


def gelu_inner(x: Value) -> Value:
    return (x + x * x * x * GELU_KAPPA) * GELU_BETA


def normal_cdf(x: Value) -> Value:
    return (hlo.erf(x * math.sqrt(0.5)) + 1.0) * 0.5


@rule_for(aten.gelu.default)
def gelu(out, x, *, approximate="none"):
    (x,) = operands(out, x)
    if approximate == "tanh":
        result = x * 0.5 * (hlo.tanh(gelu_inner(x)) + 1.0)
    else:
        result = x * normal_cdf(x)
    return hlo.convert(result, out.dtype)


def relu6(x: Value) -> Value:
    return hlo.min(hlo.max(x, number(0, x)), number(6, x))


@pointwise(aten.relu.default)
def relu(x):
    return hlo.max(x, number(0, x))


@pointwise(aten.sigmoid.default)
def sigmoid(x):
    return number(1, x) / (number(1, x) + complex_functions.exp(hlo.neg(x)))


@pointwise(aten.silu.default)
def silu(x):
    return x / (number(1, x) + complex_functions.exp(hlo.neg(x)))


@pointwise(aten.mish.default)
def mish(x):
    return x * hlo.tanh(hlo.log1p(hlo.exp(x)))


@pointwise(aten.hardswish.default)
def hardswish(x):
    return quotient(x * relu6(x + 3.0), number(6, x))


@pointwise(aten.hardsigmoid.default)
def hardsigmoid(x):
    return quotient(relu6(x + 3.0), number(6, x))


@pointwise(aten.hardtanh.default)
def hardtanh(x, low=-1, high=1):
    return hlo.min(hlo.max(x, number(low, x)), number(high, x))


@pointwise(aten.leaky_relu.default)
def leaky_relu(x, slope=0.01):
    return hlo.select(x > 0, x, x * slope)


@rule_for(aten.elu.default)
def elu(out, x, alpha=1, scale=1, input_scale=1):
    """scale * x above 0, alpha * scale * expm1(x * input_scale) elsewhere."""
    x, alpha, scale, input_scale = operands(out, x, alpha, scale, input_scale)
    below = hlo.expm1(x * input_scale) * (alpha * scale)
    return hlo.convert(hlo.select(x <= 0, below, x * scale), out.dtype)


@rule_for(aten.celu.default)
def celu(out, x, alpha=1.0):
    x, alpha = operands(out, x, alpha)
    below = hlo.expm1(x / alpha) * alpha
    return hlo.convert(hlo.select(x <= 0, below, x), out.dtype)


@rule_for(aten.softplus.default)
def softplus(out, x, beta=1, threshold=20):
    x, beta, threshold = operands(out, x, beta, threshold)
    steep = x * beta
    soft = hlo.log1p(hlo.exp(steep)) / beta
    return hlo.convert(hlo.select(hlo.compare(steep, threshold, "GT"), x, soft), out.dtype)


@pointwise(aten.threshold.default)
def threshold(x, limit, value):
    return hlo.select(hlo.compare(x, limit, "LE"), value, x)


@pointwise(aten._prelu_kernel.default)
def prelu(x, weight):
    return hlo.select(x > 0, x, x * weight)


@rule_for(aten.softshrink.default)
def softshrink(out, x, lambd=0.5):
    """x pulled towards 0 by lambd; x * 0 between, so that NaN stays NaN."""
    x, lambd = operands(out, x, lambd)
    below = hlo.select(hlo.compare(x, hlo.neg(lambd), "LT"), x + lambd, x * 0.0)
    return hlo.convert(hlo.select(hlo.compare(x, lambd, "GT"), x - lambd, below), out.dtype)


@rule_for(aten.hardshrink.default)
def hardshrink(out, x, lambd=0.5):
    x, lambd = promoted_operands(out, x, lambd)
    return hlo.convert(where(within(x, lambd), 0, x), out.dtype)


def within(x: Value, limit: Value) -> Value:
    """bool: -limit <= x <= limit."""
    return hlo.and_(hlo.compare(x, hlo.neg(limit), "GE"), hlo.compare(x, limit, "LE"))


def halves(x: Value, dim: int) -> tuple[Value, Value]:
    """The two halves of x along dim."""
    dim %= x.ndim
    middle = x.shape[dim] // 2
    low, high, ones = [0] * x.ndim, list(x.shape), [1] * x.ndim
    start, end = list(low), list(high)
    start[dim] = end[dim] = middle
    return hlo.slice(x, low, end, ones), hlo.slice(x, start, high, ones)


@rule_for(aten.glu.default)
def glu(out, x, dim=-1):
    value, gate = operands(out, *halves(x, dim))
    return hlo.convert(value * sigmoid(gate), out.dtype)


@rule_for(aten.log_sigmoid_forward.default)
def log_sigmoid(out, x):
    """min(x, 0) - log1p(exp(-|x|)), and exp(-|x|) kept for the gradient."""
    result, buffer = out
    (x,) = operands(result, x)
    tail = hlo.exp(hlo.neg(hlo.abs(x)))
    value = hlo.min(x, number(0, x)) - hlo.log1p(tail)
    return hlo.convert(value, result.dtype), hlo.convert(tail, buffer.dtype)


@rule_for(aten.logit.default)
def logit(out, x, eps=None):
    (x,) = operands(out, x)
    if eps is not None:
        low = number(eps, x)
        x = hlo.min(hlo.max(x, low), 1.0 - low)
    return hlo.convert(hlo.log(x / (1.0 - x)), out.dtype)
