"""Rules for functions of one element: exponentials, logarithms, roots, trigonometry, rounding,
sign.

Each op is one row of a table. Two-operand arithmetic is in `arithmetic`, tests and choices in
`comparison`, neural activations in `activation`, the rarer special functions in `special`.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import complex_functions, hlo
from torch_neuronx.lowering.elementwise import (
    is_nan,
    number,
    operands,
    pointwise,
    quotient,
    rule_for,
    signbit,
    truncate,
    where,
)

aten = torch.ops.aten


def _exp2(x):
    """2**x through pow, exact for whole x as CPU's exp2 is."""
    return complex_functions.exp2(x) if x.dtype.is_complex else hlo.pow(number(2.0, x), x)


def _sinc(x):
    """sin(pi x) / (pi x), 1 at 0."""
    angle = complex_functions.scaled(x, math.pi)
    return where(hlo.compare(x, number(0, x), "EQ"), 1, complex_functions.sin(angle) / angle)


def digamma(x):
    """chlo's, with CPU's poles: copysign(inf, -x) at zero, NaN at the negative integers."""
    zero = hlo.compare(x, number(0, x), "EQ")
    pole = where(signbit(x), math.inf, number(-math.inf, x))
    return hlo.select(zero, pole, hlo.digamma(x))


# Ops whose result is floating (or complex) even for integers.
FLOATING = {
    aten.acos.default: complex_functions.acos,
    aten.acosh.default: complex_functions.acosh,
    aten.asin.default: complex_functions.asin,
    aten.asinh.default: complex_functions.asinh,
    aten.atan.default: complex_functions.atan,
    aten.atanh.default: complex_functions.atanh,
    aten.cos.default: complex_functions.cos,
    aten.cosh.default: complex_functions.cosh,
    aten.deg2rad.default: lambda x: x * (math.pi / 180.0),
    aten.digamma.default: digamma,
    aten.erf.default: hlo.erf,
    aten.erfc.default: hlo.erfc,
    aten.erfinv.default: hlo.erf_inv,
    aten.exp.default: complex_functions.exp,
    aten.exp2.default: _exp2,
    aten.expm1.default: complex_functions.expm1,
    aten.log.default: complex_functions.log,
    aten.log10.default: complex_functions.log10,
    aten.log1p.default: complex_functions.log1p,
    aten.log2.default: complex_functions.log2,
    aten.rad2deg.default: lambda x: x * (180.0 / math.pi),
    aten.reciprocal.default: lambda x: 1.0 / x,
    aten.rsqrt.default: complex_functions.rsqrt,
    aten.sin.default: complex_functions.sin,
    aten.sinc.default: _sinc,
    aten.sinh.default: complex_functions.sinh,
    aten.sqrt.default: complex_functions.sqrt,
    aten.tan.default: complex_functions.tan,
    aten.tanh.default: complex_functions.tanh,
}

# Ops that leave integers and bools as they are.
ROUNDING = {
    aten.ceil.default: hlo.ceil,
    aten.floor.default: hlo.floor,
    aten.round.default: hlo.round_even,
    aten.trunc.default: truncate,
}


def _not_integers(fn):
    return lambda x: fn(x) if x.dtype.is_floating_point or x.dtype.is_complex else x


for _op, _fn in FLOATING.items():
    pointwise(_op)(_fn)
for _op, _fn in ROUNDING.items():
    pointwise(_op)(_not_integers(_fn))


@pointwise(aten.frac.default)
def frac(x):
    return x - truncate(x)


pointwise(aten.neg.default)(hlo.neg)


@pointwise(aten.sign.default)
def sign(x):
    """0 for NaN and for either zero, as (0 < x) - (x < 0) is."""
    if x.dtype == torch.bool:
        return x
    zero = number(0, x)
    positive = hlo.convert(hlo.compare(x, zero, "GT"), x.dtype)
    return positive - hlo.convert(hlo.compare(x, zero, "LT"), x.dtype)


@pointwise(aten.sgn.default)
def sgn(x):
    """x / |x| for a complex x, 0 at 0."""
    if not x.dtype.is_complex:
        return sign(x)
    size = complex_functions.magnitude(x)
    return where(size == 0, 0, complex_functions.divided(x, size))


@rule_for(aten.abs.default)
def absolute(out, x):
    if not x.dtype.is_complex and not x.dtype.is_signed:
        return x
    size = complex_functions.magnitude(x if x.dtype.is_complex else operands(out, x)[0])
    return hlo.convert(size, out.dtype)


@rule_for(aten.round.decimals)
def round_decimals(out, x, *, decimals):
    """round(x * 10**d) / 10**d, the power on the other side for a negative d (ATen
    round_decimals_kernel).
    """
    if not x.dtype.is_floating_point:
        return x
    (x,) = operands(out, x)
    scale = number(10.0 ** abs(decimals), x)
    if decimals >= 0:
        rounded = quotient(hlo.round_even(x * scale), scale)
    else:
        rounded = hlo.round_even(quotient(x, scale)) * scale
    return hlo.convert(rounded, out.dtype)


@rule_for(aten.nan_to_num.default)
def nan_to_num(out, x, nan=None, posinf=None, neginf=None):
    """None stands for 0 and the largest and smallest finite number of the dtype."""
    if x.dtype.is_complex:
        parts = [_finite(part, nan, posinf, neginf) for part in (hlo.real(x), hlo.imag(x))]
        return hlo.complex(*parts)
    return _finite(x, nan, posinf, neginf)


def _finite(x, nan, posinf, neginf):
    if not x.dtype.is_floating_point:
        return x
    limits = torch.finfo(x.dtype)
    high = number(limits.max if posinf is None else posinf, x)
    low = number(limits.min if neginf is None else neginf, x)
    result = hlo.select(is_nan(x), number(0.0 if nan is None else nan, x), x)
    result = hlo.select(hlo.compare(x, number(math.inf, x), "EQ"), high, result)
    return hlo.select(hlo.compare(x, number(-math.inf, x), "EQ"), low, result)


@rule_for(aten.frexp.Tensor)
def frexp(out, x):
    """Mantissa in [0.5, 1) and exponent with x = mantissa * 2**exponent, from the float's bits."""
    _, exponent = out
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.dtype.itemsize]
    width = -int(math.log2(torch.finfo(x.dtype).eps))
    tiny = hlo.abs(x) < number(torch.finfo(x.dtype).tiny, x)
    scaled = where(tiny, x * float(2**width), x)
    field = (8 * x.dtype.itemsize) - 1 - width
    bias = 2 ** (field - 1) - 2
    raw = hlo.bitcast(scaled, bits)
    biased = hlo.and_(hlo.shr_logical(raw, number(width, raw)), number(2**field - 1, raw))
    kept = hlo.and_(raw, number(~((2**field - 1) << width), raw))
    half = hlo.bitcast(hlo.or_(kept, number(bias << width, raw)), x.dtype)
    power = biased - number(bias, biased) - where(tiny, width, number(0, biased))
    plain = hlo.or_(hlo.not_(hlo.is_finite(x)), hlo.compare(x, number(0, x), "EQ"))
    return hlo.select(plain, x, half), hlo.convert(where(plain, 0, power), exponent.dtype)
