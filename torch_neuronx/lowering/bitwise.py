"""Rules for bits and truth values: and, or, xor, not, shifts, the logical ops, gcd and lcm."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import (
    is_zero,
    number,
    operands,
    pointwise,
    rule_for,
    where,
)

aten = torch.ops.aten

for _packet, _fn in (
    (aten.bitwise_and, hlo.and_),
    (aten.bitwise_or, hlo.or_),
    (aten.bitwise_xor, hlo.xor),
):
    pointwise(_packet.Tensor, _packet.Scalar, _packet.Scalar_Tensor)(_fn)

pointwise(aten.bitwise_not.default)(hlo.not_)


def _outside(amount, width):
    """bool: shift amounts that no hardware shift takes, negative ones included."""
    negative = hlo.compare(amount, number(0, amount), "LT")
    return hlo.or_(negative, hlo.compare(amount, number(width, amount), "GE"))


@pointwise(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
    aten.bitwise_left_shift.Scalar_Tensor,
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
)
def left_shift(x, amount):
    """0 for an amount outside the width."""
    return where(_outside(amount, 8 * x.dtype.itemsize), 0, hlo.shl(x, amount))


@pointwise(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
    aten.bitwise_right_shift.Scalar_Tensor,
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
)
def right_shift(x, amount):
    """Arithmetic; an amount outside the width shifts everything but the sign out."""
    most = 8 * x.dtype.itemsize - x.dtype.is_signed
    amount = where(_outside(amount, most), most, amount)
    if x.dtype.is_signed:
        return hlo.shr_arith(x, amount)
    return hlo.shr_logical(x, amount)


def _logical(op, fn):
    @rule_for(op)
    def rule(out, *xs):
        return hlo.convert(fn(*operands(out, *xs, dtype=torch.bool)), out.dtype)


_logical(aten.logical_and.default, hlo.and_)
_logical(aten.logical_or.default, hlo.or_)
_logical(aten.logical_xor.default, hlo.xor)
_logical(aten.logical_not.default, hlo.not_)


@pointwise(aten.gcd.default)
def gcd(x, y):
    """Euclid's algorithm on all elements at once, until the last one is done. Magnitudes are taken
    first, as on CPU, where the smallest number stays negative.
    """

    def unfinished(_, y):
        return hlo.reduce(hlo.not_(is_zero(y)), range(y.ndim), "or")

    def step(x, y):
        done = is_zero(y)
        rest = hlo.rem(x, where(done, 1, y))
        return hlo.select(done, x, y), where(done, 0, rest)

    return hlo.while_([_size(y), _size(x)], unfinished, step)[0] if x.numel else x


def _size(x):
    return hlo.abs(x) if x.dtype.is_signed else x


@pointwise(aten.lcm.default)
def lcm(x, y):
    """|x / gcd * y|, 0 where both are 0; C computes the product of narrow integers as int."""
    divisor = gcd(x, y)
    zero = is_zero(divisor)
    quotient = x / where(zero, 1, divisor)
    wide = torch.promote_types(x.dtype, torch.int32)
    product = _size(hlo.convert(quotient, wide) * hlo.convert(y, wide))
    return hlo.convert(where(zero, 0, product), x.dtype)
