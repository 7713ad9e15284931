"""Rules for complex numbers: building, taking apart, angle. Views of their parts are in `views`."""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import arctangent, hlo
from torch_neuronx.lowering.elementwise import is_nan, number, operands, rule_for, where

aten = torch.ops.aten


@rule_for(aten.complex.default)
def complex_(out, real, imag):
    part = out.dtype.to_real()
    return hlo.complex(*operands(out, real, imag, dtype=part))


@rule_for(aten.polar.default)
def polar(out, size, angle):
    size, angle = operands(out, size, angle, dtype=out.dtype.to_real())
    return hlo.complex(size * hlo.cosine(angle), size * hlo.sine(angle))


def conjugate(x):
    return hlo.complex(hlo.real(x), hlo.neg(hlo.imag(x))) if x.dtype.is_complex else x


@rule_for(aten._conj_physical.default, aten.conj_physical.default)
def conj_physical(out, x):
    return conjugate(x)


@rule_for(aten.angle.default)
def angle(out, x):
    """Of a real number: pi for a negative one, else 0; NaN stays NaN."""
    if x.dtype.is_complex:
        return arctangent.atan2(hlo.imag(x), hlo.real(x))
    (x,) = operands(out, x)
    turned = where(hlo.compare(x, number(0, x), "LT"), math.pi, number(0, x))
    return hlo.convert(hlo.select(is_nan(x), x, turned), out.dtype)
