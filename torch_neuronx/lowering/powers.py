"""Rules for powers: of floats, of complex numbers and of integers, which wrap around."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import complex_functions, hlo
from torch_neuronx.lowering.elementwise import (
    is_zero,
    number,
    operands,
    pointwise,
    rounded,
    rule_for,
)
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@pointwise(aten.pow.Tensor_Tensor, aten.pow.Scalar, casts_numbers=True)
def power(x, y):
    if x.dtype.is_complex:
        return complex_functions.power(x, y)
    return hlo.pow(x, y) if x.dtype.is_floating_point else _of_integers(x, y)


def _of_integers(x: Value, y: Value) -> Value:
    """Modulo the width, by squaring, until no exponent has bits left. XLA's own looks at the lowest
    few bits of an exponent. Of a negative exponent 1/x rounded towards zero, as on CPU.
    """
    if not x.numel:
        return x
    if x.dtype == torch.bool:
        return x | ~y
    zero, one = number(0, x), number(1, x)

    def unfinished(_, __, rest):
        return hlo.reduce(hlo.compare(rest, zero, "GT"), None, "or")

    def step(result, square, rest):
        result = hlo.select(is_zero(rest & 1), result, result * square)
        return result, square * square, hlo.shr_logical(rest, one)

    negative = hlo.compare(y, zero, "LT")
    result = hlo.while_([one, x, hlo.select(negative, zero, y)], unfinished, step)[0]
    if not x.dtype.is_signed:
        return result
    sign = hlo.select(is_zero(y & 1), one, x)
    unit = hlo.compare(x, one, "EQ") | hlo.compare(x, number(-1, x), "EQ")
    return hlo.select(negative, hlo.select(unit, sign, zero), result)


# Exponents whose power CPU computes by multiplication or a root.
SPECIAL_POWERS = {
    0: lambda x: number(1, x),
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    0.5: complex_functions.sqrt,
    -0.5: complex_functions.rsqrt,
    -1: lambda x: 1.0 / x,
    -2: lambda x: 1.0 / (x * x),
}


@rule_for(aten.pow.Tensor_Scalar, static=("exponent",))
def pow_scalar(out, x, exponent):
    """The exponent is part of the program: nearly always a literal, and x*x is far cheaper than
    pow.
    """
    (x,) = operands(out, x)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        return _by_squaring(x, int(exponent))
    special = SPECIAL_POWERS.get(exponent)
    result = special(x) if special else power(x, rounded(number(exponent, x), out.dtype))
    return hlo.convert(result, out.dtype)


def _by_squaring(x: Value, exponent: int) -> Value:
    result = number(1, x)
    while exponent:
        result = result * x if exponent & 1 else result
        x, exponent = x * x, exponent >> 1
    return result


@pointwise(aten.ldexp.Tensor)
def ldexp(x, exponent):
    return x * hlo.pow(number(2.0, exponent), exponent)
