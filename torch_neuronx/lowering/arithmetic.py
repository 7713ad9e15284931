"""Rules for two- and three-operand arithmetic: sums, products, divisions, angles, interpolation.

Scalar variants share the tensor variant's rule, since a run-time number is a value like any
other. Formulas follow ATen's native/cpu/BinaryOpsKernel.cpp and PointwiseOpsKernel.cpp; integer
division by zero raises as there. Powers are in `powers`, bitwise operations in
`bitwise`, comparisons in `comparison`.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import arctangent, complex_functions, hlo
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.elementwise import (
    LN2,
    copysign,
    is_zero,
    number,
    operands,
    pointwise,
    promoted_operands,
    quotient,
    rounded,
    rule_for,
    truncate,
    where,
)
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def scaled(x: Value, factor) -> Value:
    """x * factor; x itself for the plain number 1, which most calls pass."""
    if not isinstance(factor, Value) and factor == 1:
        return x
    return multiply(x, number(factor, x))


def plus(x: Value, y: Value) -> Value:
    return hlo.or_(x, y) if x.dtype == torch.bool else x + y


def _term(out, y: Value, alpha) -> Value:
    """alpha * y, with alpha rounded to the result's dtype as in the CPU's vector kernels."""
    if isinstance(alpha, Value):
        alpha = rounded(number(alpha, y), out.dtype)
    return scaled(y, alpha)


@rule_for(aten.add.Tensor, aten.add.Scalar)
def add(out, x, y, alpha=1):
    x, y = promoted_operands(out, x, y)
    return hlo.convert(plus(x, _term(out, y, alpha)), out.dtype)


@rule_for(aten.sub.Tensor, aten.sub.Scalar)
def sub(out, x, y, alpha=1):
    x, y = promoted_operands(out, x, y)
    return hlo.convert(x - _term(out, y, alpha), out.dtype)


@rule_for(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(out, x, y, alpha=1):
    return sub(out, y, x, alpha)


@pointwise(aten.mul.Tensor, aten.mul.Scalar)
def multiply(x, y):
    return hlo.and_(x, y) if x.dtype == torch.bool else x * y


@rule_for(aten._add_relu.Tensor, aten._add_relu.Scalar)
def add_relu(out, x, y, alpha=1):
    total = add(out, x, y, alpha)
    return hlo.max(total, number(0, total))


# ---- division ----------------------------------------------------------------------------------


def _refusing_zero(fn):
    """`fn` of integers with CPU's error for a zero divisor; then the dividend stays what it was."""

    def guarded(x, y):
        if x.dtype.is_floating_point or not y.numel:
            return fn(x, y)
        zero = hlo.reduce(is_zero(y), None, "or")
        check(zero, "RuntimeError", "ZeroDivisionError")
        return hlo.select(hlo.broadcast_to(zero, x.shape), x, fn(x, y))

    guarded.__doc__ = fn.__doc__
    return guarded


@_refusing_zero
def _divide_trunc(x, y):
    """Of integers; floats are rounded to the result's dtype before they are truncated."""
    return x / y


@_refusing_zero
def divide_floor(x, y):
    """c10::div_floor_floating and div_floor_integer: the exact quotient, rounded down."""
    if not x.dtype.is_floating_point:
        return _floor_of(x / y, hlo.rem(x, y), y)
    rest = hlo.rem(x, y)
    ratio = _floor_of((x - rest) / y, rest, y)
    floor = hlo.floor(ratio)
    floor = where(ratio - floor > 0.5, floor + 1.0, floor)
    floor = hlo.select(is_zero(ratio), copysign(number(0, x), x / y), floor)
    return hlo.select(is_zero(y), x / y, floor)


def _floor_of(quotient, rest, divisor):
    one_less = hlo.and_(hlo.not_(is_zero(rest)), hlo.xor(_negative(rest), _negative(divisor)))
    return hlo.select(one_less, quotient - number(1, quotient), quotient)


def _negative(x):
    return hlo.compare(x, number(0, x), "LT")


DIVIDE = {None: quotient, "trunc": _divide_trunc, "floor": divide_floor}


# true_divide and square: PyTorch writes them into traced graphs, for numbers computed from sizes.
pointwise(aten.square.default)(lambda x: x * x)


@rule_for(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor)
def div(out, x, y):
    x, y = promoted_operands(out, x, y, casts_numbers=False)
    return hlo.convert(quotient(x, y), out.dtype)


pointwise(aten.floor_divide.default, aten.floor_divide.Scalar)(divide_floor)


@rule_for(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(out, x, y, *, rounding_mode):
    by_tensor = isinstance(y, Value) and y.ndim > 0
    x, y = promoted_operands(out, x, y, casts_numbers=False)
    if rounding_mode == "trunc" and x.dtype.is_floating_point:
        ratio = quotient(x, y)
        return hlo.convert(truncate(rounded(ratio, out.dtype) if by_tensor else ratio), out.dtype)
    return hlo.convert(DIVIDE[rounding_mode](x, y), out.dtype)


@pointwise(aten.fmod.Tensor, aten.fmod.Scalar, casts_numbers=True)
@_refusing_zero
def fmod(x, y):
    """The remainder with the sign of the dividend."""
    return hlo.rem(x, y)


@pointwise(
    aten.remainder.Tensor,
    aten.remainder.Scalar,
    aten.remainder.Scalar_Tensor,
    casts_numbers=True,
)
@_refusing_zero
def remainder(x, y):
    """The remainder with the sign of the divisor."""
    rest = hlo.rem(x, y)
    turn = hlo.and_(hlo.not_(is_zero(rest)), hlo.xor(_negative(rest), _negative(y)))
    return hlo.select(turn, rest + y, rest)


# ---- distances, angles and sums of exponentials -----------------------------------------------


@pointwise(aten.hypot.default, casts_numbers=True)
def hypot(x, y):
    """sqrt(x*x + y*y) scaled by the larger, so that neither square overflows; inf beats NaN."""
    x, y = hlo.abs(x), hlo.abs(y)
    large, small = hlo.max(x, y), hlo.min(x, y)
    ratio = where(is_zero(large), 0, small / large)
    size = large * hlo.sqrt(ratio * ratio + 1.0)
    infinite = hlo.or_(is_infinite(x), is_infinite(y))
    return where(infinite, math.inf, size)


def is_infinite(x: Value) -> Value:
    """bool: plus or minus infinity, for a real floating x."""
    return hlo.compare(hlo.abs(x), number(math.inf, x), "EQ")


pointwise(aten.atan2.default, casts_numbers=True)(arctangent.atan2)
pointwise(aten.copysign.Tensor, aten.copysign.Scalar, casts_numbers=True)(copysign)
pointwise(aten.nextafter.default, casts_numbers=True)(hlo.next_after)


def _log_add(x, y, exp, log1p):
    """max + log1p(exp(-|x - y|)); equal infinities stay what they are."""
    same = hlo.and_(is_infinite(x), hlo.compare(x, y, "EQ"))
    return hlo.select(same, x, hlo.max(x, y) + log1p(exp(hlo.neg(hlo.abs(x - y)))))


@pointwise(aten.logaddexp.default, casts_numbers=True)
def log_add_exp(x, y):
    """log(exp(x) + exp(y)); for complex operands the one with the larger real part goes first."""
    if not x.dtype.is_complex:
        return _log_add(x, y, hlo.exp, hlo.log1p)
    swap = hlo.compare(hlo.real(x), hlo.real(y), "LT")
    high, low = hlo.select(swap, y, x), hlo.select(swap, x, y)
    nothing = hlo.real(high) == -math.inf
    return hlo.select(
        nothing, high, high + complex_functions.log(complex_functions.exp(low - high) + 1)
    )


@pointwise(aten.logaddexp2.default, casts_numbers=True)
def log_add_exp2(x, y):
    two = number(2.0, x)
    return _log_add(x, y, lambda z: hlo.pow(two, z), lambda z: hlo.log1p(z) * (1.0 / LN2))


# ---- three operands ----------------------------------------------------------------------------


@pointwise(aten.lerp.Tensor, aten.lerp.Scalar)
def lerp(start, end, weight):
    """From the nearer end, so that weight 1 gives `end` exactly (ATen native/Lerp.h)."""
    step = end - start
    small = hlo.abs(weight)
    near = small < 0.5
    return hlo.select(near, start + weight * step, end - step * (number(1, weight) - weight))


@rule_for(aten.addcmul.default)
def addcmul(out, x, y, z, *, value=1):
    x, y, z = operands(out, x, y, z)
    return hlo.convert(plus(x, multiply(scaled(y, value), z)), out.dtype)


@rule_for(aten.addcdiv.default)
def addcdiv(out, x, y, z, *, value=1):
    x, y, z = operands(out, x, y, z)
    return hlo.convert(x + quotient(scaled(y, value), z), out.dtype)
