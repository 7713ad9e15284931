"""Rules that compare, test and choose: ==, <, isnan, where, masked_fill, maximum, minimum, clamp.

Reductions by comparison (amax, argmax) are in `extremum`; logic on truth values is in `bitwise`.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import (
    false,
    is_nan,
    is_zero,
    number,
    operands,
    pointwise,
    promoted,
    rule_for,
    signbit,
)
from torch_neuronx.lowering.fitting import fitted

aten = torch.ops.aten

COMPARE = {
    aten.eq: "EQ",
    aten.ne: "NE",
    aten.lt: "LT",
    aten.le: "LE",
    aten.gt: "GT",
    aten.ge: "GE",
}


def _comparison(packet, direction):
    @rule_for(packet.Tensor, packet.Scalar)
    def rule(out, x, y):
        x, y = operands(out, x, y, dtype=promoted(x, y))
        return hlo.compare(x, y, direction)


for _packet, _direction in COMPARE.items():
    _comparison(_packet, _direction)


# ---- tests -------------------------------------------------------------------------------------


def _equals(x, value):
    return hlo.compare(x, number(value, x), "EQ") if x.dtype.is_floating_point else false(x.shape)


def _any_part(test):
    """`test` on a real number, or on either part of a complex one."""

    def rule(out, x):
        if x.dtype.is_complex:
            return hlo.or_(test(hlo.real(x)), test(hlo.imag(x)))
        return test(x)

    return rule


TESTS = {
    aten.isnan.default: is_nan,
    aten.isinf.default: lambda x: hlo.or_(_equals(x, math.inf), _equals(x, -math.inf)),
    aten.isposinf.default: lambda x: _equals(x, math.inf),
    aten.isneginf.default: lambda x: _equals(x, -math.inf),
}

for _op, _test in TESTS.items():
    rule_for(_op)(_any_part(_test))


# ---- choice ------------------------------------------------------------------------------------


@rule_for(aten.where.self, aten.where.Scalar, aten.where.ScalarOther, aten.where.ScalarSelf)
def choose(out, condition, x, y):
    (condition,) = operands(out, condition, dtype=torch.bool)
    return hlo.select(condition, *operands(out, x, y, dtype=out.dtype))


@rule_for(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(out, x, mask, value):
    return choose(out, mask, fitted(value, out.dtype), x)


@pointwise(aten.heaviside.default, casts_numbers=True)
def heaviside(x, at_zero):
    """0 below zero and for NaN, `at_zero` at zero, 1 above."""
    above = hlo.convert(hlo.compare(x, number(0, x), "GT"), x.dtype)
    return hlo.select(is_zero(x), at_zero, above)


pointwise(aten.maximum.default, casts_numbers=True)(hlo.max)
pointwise(aten.minimum.default, casts_numbers=True)(hlo.min)


def _ignoring_nan(fn):
    return lambda x, y: hlo.select(is_nan(x), y, hlo.select(is_nan(y), x, fn(x, y)))


pointwise(aten.fmax.default, casts_numbers=True)(_ignoring_nan(hlo.max))
pointwise(aten.fmin.default, casts_numbers=True)(_ignoring_nan(hlo.min))


@rule_for(aten.clamp.default, aten.clamp.Tensor)
def clamp(out, x, min=None, max=None):
    """min(max(x, low), high): a NaN anywhere gives NaN, and `high` wins where it is below `low`."""
    (x,) = operands(out, x, dtype=out.dtype)
    if min is not None:
        x = hlo.max(x, *operands(out, min, dtype=out.dtype))
    if max is not None:
        x = hlo.min(x, *operands(out, max, dtype=out.dtype))
    return x


@rule_for(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(out, x, low):
    return clamp(out, x, min=low)


@rule_for(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(out, x, high):
    return clamp(out, x, max=high)


@rule_for(aten.signbit.default)
def sign_bit(out, x):
    return signbit(x)
