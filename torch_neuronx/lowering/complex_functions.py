"""Elementary functions of complex numbers, with the branch cuts and infinities of C99, annex G.

XLA's expansions lose the sign of a zero, which tells the two sides of a branch cut apart, multiply
infinities by zeros, and its sine cancels near 0. So an inverse function is evaluated in the first
quadrant and takes its signs from the argument, a direct one is put together from real functions,
and what scales a complex number scales its parts. Every function takes a real value as well and is
then `hlo`'s. Called by `pointwise`, `arithmetic`, `activation` and `reduction`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from torch_neuronx.lowering import arctangent, hlo, trigonometric
from torch_neuronx.lowering.elementwise import (
    LN2,
    copysign,
    is_nan,
    is_zero,
    number,
    signbit,
    where,
)
from torch_neuronx.lowering.value import Value

Parts = tuple[Value, Value]


def _of(real: Callable[[Value], Value]):
    """Decorator: a function from parts to parts as one of a complex value, and `real` of a real."""

    def register(fn: Callable[[Value, Value], Parts]) -> Callable[[Value], Value]:
        @functools.wraps(fn)
        def function(z: Value) -> Value:
            return hlo.complex(*fn(*_parts(z))) if z.dtype.is_complex else real(z)

        return function

    return register


def scaled(z: Value, factor: float | Value) -> Value:
    """z * factor for a real factor, part by part: an infinite part is no NaN then."""
    return _by_part(z, lambda part: part * factor)


def divided(z: Value, divisor: float | Value) -> Value:
    """z / divisor for a real divisor, part by part."""
    return _by_part(z, lambda part: part / divisor)


def _by_part(z: Value, fn: Callable[[Value], Value]) -> Value:
    return hlo.complex(*map(fn, _parts(z))) if z.dtype.is_complex else fn(z)


def _parts(z: Value) -> Parts:
    return hlo.real(z), hlo.imag(z)


def _first_quadrant(x: Value, y: Value) -> Value:
    return hlo.complex(hlo.abs(x), hlo.abs(y))


def _signed(z: Value, x: Value, y: Value) -> Parts:
    """The parts of a function that is odd in both, from its value in the first quadrant."""
    return copysign(hlo.real(z), x), copysign(hlo.imag(z), y)


def _has_infinity(x: Value, y: Value) -> Value:
    return (hlo.abs(x) == math.inf) | (hlo.abs(y) == math.inf)


def _product(x: Value, y: Value) -> Value:
    """x * y, and 0 with its sign where a factor is 0 and the other one infinite or NaN."""
    none = number(0, x)
    zero = hlo.select(signbit(x) ^ signbit(y), -none, none)
    return hlo.select(is_zero(x) | is_zero(y), zero, x * y)


# ---- size, exponentials, logarithms, roots -----------------------------------------------------


def magnitude(z: Value) -> Value:
    """|z|, real; infinite if a part is, whether or not the other one is NaN."""
    if not z.dtype.is_complex:
        return hlo.abs(z)
    return where(_has_infinity(hlo.real(z), hlo.imag(z)), math.inf, hlo.abs(z))


@_of(hlo.exp)
def exp(x, y):
    """Of -inf 0, and of inf infinite, where the angle is not a number either."""
    re, im = _parts(hlo.exp(hlo.complex(x, y)))
    lost = ~hlo.is_finite(y)
    nothing = number(0, x)
    re = hlo.select(lost & (x == math.inf), x, hlo.select(lost & (x == -math.inf), nothing, re))
    im = hlo.select(lost & (x == -math.inf), copysign(nothing, y), im)
    return re, hlo.select(is_zero(y), y, im)


def exp2(z: Value) -> Value:
    return exp(scaled(z, LN2))


@_of(hlo.expm1)
def expm1(x, y):
    re, im = _parts(hlo.expm1(hlo.complex(x, y)))
    return re, hlo.select(is_zero(y), y, im)


@_of(hlo.log)
def log(x, y):
    size = hlo.real(hlo.log(hlo.complex(x, y)))
    return where(_has_infinity(x, y), math.inf, size), arctangent.atan2(y, x)


@_of(hlo.log1p)
def log1p(x, y):
    """Near -1, where the square of the distance may underflow, from the distance."""
    re, im = _parts(hlo.log1p(hlo.complex(x, y)))
    distance = hlo.abs(hlo.complex(x + 1.0, y))
    return hlo.select(distance < 0.5, hlo.log(distance), re), im


def log2(z: Value) -> Value:
    return divided(log(z), LN2)


def log10(z: Value) -> Value:
    return divided(log(z), math.log(10.0))


@_of(hlo.sqrt)
def sqrt(x, y):
    re, im = _parts(hlo.sqrt(hlo.complex(x, y)))
    return re, copysign(im, y)


def rsqrt(z: Value) -> Value:
    return 1.0 / sqrt(z)


def power(z: Value, w: Value) -> Value:
    """exp(w log z) of complex values; z**0 is 1, and 0 to what has a positive real part is 0."""
    value = exp(w * log(z))
    value = where((z == 0.0) & (hlo.real(w) > 0.0), 0.0, value)
    return where(w == 0.0, 1.0, value)


# ---- trigonometric and hyperbolic functions ----------------------------------------------------


@_of(trigonometric.sin)
def sin(x, y):
    return _product(hlo.sine(x), hlo.cosh(y)), _product(hlo.sinh(y), hlo.cosine(x))


@_of(trigonometric.cos)
def cos(x, y):
    return hlo.cosine(x) * hlo.cosh(y), _product(-hlo.sine(x), hlo.sinh(y))


def _keeping_zeros(fn, x, y):
    """`fn` of x + iy, which maps the axes to themselves: a part that is zero keeps its sign."""
    re, im = _parts(fn(hlo.complex(x, y)))
    return hlo.select(is_zero(x), x, re), hlo.select(is_zero(y), y, im)


@_of(hlo.tan)
def tan(x, y):
    return _keeping_zeros(hlo.tan, x, y)


@_of(hlo.sinh)
def sinh(x, y):
    return _product(hlo.sinh(x), hlo.cosine(y)), _product(hlo.sine(y), hlo.cosh(x))


@_of(hlo.cosh)
def cosh(x, y):
    return hlo.cosh(x) * hlo.cosine(y), _product(hlo.sinh(x), hlo.sine(y))


@_of(hlo.tanh)
def tanh(x, y):
    return _keeping_zeros(hlo.tanh, x, y)


# ---- their inverses ----------------------------------------------------------------------------


@_of(hlo.asin)
def asin(x, y):
    return _signed(hlo.asin(_first_quadrant(x, y)), x, y)


@_of(hlo.asinh)
def asinh(x, y):
    return _signed(hlo.asinh(_first_quadrant(x, y)), x, y)


@_of(arctangent.atan)
def atan(x, y):
    """-i atanh(i z)."""
    im, re = _atanh(y, x)
    return re, im


@_of(hlo.atanh)
def atanh(x, y):
    return _atanh(x, y)


def _atanh(x: Value, y: Value) -> Parts:
    """Near 1, where the square of the distance may underflow, from the distances to 1 and -1."""
    z = _first_quadrant(x, y)
    re, im = _signed(hlo.atanh(z), x, y)
    near, far = hlo.abs(z - 1.0), hlo.abs(z + 1.0)
    pole = copysign((hlo.log(far) - hlo.log(near)) * 0.5, x)
    lost = is_nan(x) | is_nan(y)
    return hlo.select(near < 0.5, pole, re), where(lost & ~_has_infinity(x, y), math.nan, im)


@_of(hlo.acos)
def acos(x, y):
    re, im = _acos(x, y)
    return re, copysign(im, -y)


@_of(hlo.acosh)
def acosh(x, y):
    re, im = _acos(x, y)
    return hlo.abs(im), copysign(re, y)


def _acos(x: Value, y: Value) -> Parts:
    """acos(z) but for the sign of its imaginary part: pi - acos(-z) on the left."""
    re, im = _parts(hlo.acos(_first_quadrant(x, y)))
    return hlo.select(signbit(x), math.pi - re, re), im
