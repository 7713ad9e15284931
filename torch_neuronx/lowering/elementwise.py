"""What every element-by-element rule needs: operands in one dtype and shape, and the way back.

Not a home for rules. `pointwise`, `arithmetic`, `bitwise`, `comparison`, `activation`, `special`
and the optimizer rules call these helpers, so promotion, broadcasting and the "compute in
float32, round once" of bfloat16 and float16 are written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value


def operands(out, *xs, dtype: torch.dtype | None = None) -> list[Value]:
    """`xs` (values or Python numbers) in `dtype`, by default what `out` is computed in, and
    `out`'s shape.
    """
    dtype = dtype or compute_dtype(out.dtype)
    return [hlo.broadcast_to(hlo.convert(x, dtype), out.shape) for x in xs]


def number(x, like: Value) -> Value:
    """The number or 0-d value `x` as an operand for `like`: same dtype, same shape."""
    return hlo.broadcast_to(hlo.convert(x, like.dtype), like.shape)


def promoted(*xs) -> torch.dtype:
    """The dtype PyTorch compares or combines `xs` in: torch.result_type over any number of
    arguments.
    """
    return elementwise_dtypes(*(_stand_in(x) for x in xs), type_promotion_kind=KIND.NO_OPMATH)[1]


def _stand_in(x):
    if not isinstance(x, Value):
        return x
    if x.is_number:
        return torch.zeros((), dtype=x.dtype).item()
    return torch.empty((1,) * x.ndim, dtype=x.dtype, device="meta")


def rounded(x: Value, dtype: torch.dtype) -> Value:
    """x with the precision of `dtype`, where a CPU kernel rounds halfway. (A pair of casts would be
    simplified away.)"""
    if x.dtype == dtype or dtype not in (torch.bfloat16, torch.float16):
        return x
    if dtype == torch.bfloat16:
        return hlo.reduce_precision(x, 8, 7)
    # Below its smallest normal number float16 has steps of one size, which XLA would take for 0.
    limits = torch.finfo(torch.float16)
    step = limits.smallest_normal * limits.eps
    small = hlo.round_even(x / step) * step
    return hlo.select(hlo.abs(x) < limits.smallest_normal, small, hlo.reduce_precision(x, 5, 10))


def rule_for(*ops, static: tuple[str, ...] = ()):
    """Decorator: the rule of each of `ops`, every Scalar and float argument run-time but for
    `static`.
    """

    def register(rule):
        for op in ops:
            lowers(op, runtime=_numbers(op, static))(rule)
        return rule

    return register


def _numbers(op, static) -> tuple[str, ...]:
    kinds = ("number", "float", "Optional[number]", "Optional[float]", "List[number]")
    arguments = op._schema.arguments
    return tuple(a.name for a in arguments if str(a.type) in kinds and a.name not in static)


def promoted_operands(out, *xs, casts_numbers: bool = True) -> list[Value]:
    """`operands` that PyTorch casts to `out`'s dtype before it computes, in a wider one or not: a
    float32 or int64 tensor beside a bfloat16 one. CPU kernels that know of numbers and 0-d tensors
    (products, quotients) take those as they are: `casts_numbers` is False.
    """
    return [
        rounded(wide, out.dtype) if _is_cast(x, out.dtype, casts_numbers) else wide
        for x, wide in zip(xs, operands(out, *xs), strict=True)
    ]


def _is_cast(x, dtype: torch.dtype, casts_numbers: bool) -> bool:
    if isinstance(x, Value) and x.dtype == dtype:
        return False
    return casts_numbers or (isinstance(x, Value) and x.ndim > 0)


def pointwise(*ops, casts_numbers: bool = False):
    """Decorator: a function of equal-shaped operands in the compute dtype becomes the rule of
    `ops`. `casts_numbers` as in `promoted_operands`.
    """

    def register(fn: Callable[..., Value]):
        def rule(out, *xs):
            return hlo.convert(
                fn(*promoted_operands(out, *xs, casts_numbers=casts_numbers)), out.dtype
            )

        rule.__doc__ = fn.__doc__
        rule_for(*ops)(rule)
        return fn

    return register


def is_nan(x: Value) -> Value:
    """bool: where a float or complex value is not equal to itself; false for integers."""
    return hlo.compare(x, x, "NE")


def is_zero(x: Value) -> Value:
    return hlo.compare(x, number(0, x), "EQ")


def false(shape) -> Value:
    return hlo.full(shape, False, torch.bool)


def where(pred: Value, x, y) -> Value:
    """select with either branch a Python number."""
    like = x if isinstance(x, Value) else y
    return hlo.select(pred, number(x, like), number(y, like))


def signbit(x: Value) -> Value:
    """bool: the sign bit, so true for -0.0 and for a negative NaN."""
    if not x.dtype.is_floating_point:
        return hlo.compare(x, number(0, x), "LT") if x.dtype.is_signed else false(x.shape)
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.dtype.itemsize]
    as_int = hlo.bitcast(x, bits)
    return hlo.compare(as_int, number(0, as_int), "LT")


def copysign(magnitude: Value, sign: Value) -> Value:
    size = hlo.abs(magnitude)
    return hlo.select(signbit(sign), hlo.neg(size), size)


def truncate(x: Value) -> Value:
    """Towards zero, keeping -0.0."""
    return hlo.select(hlo.compare(x, number(0, x), "LT"), hlo.ceil(x), hlo.floor(x))


def quotient(x: Value, y: Value) -> Value:
    """x / y; of floats rounded once, also where y was broadcast: XLA would multiply with 1 / y,
    which makes 3 / 10 another number than 0.3. A divisor that depends on x prevents that.
    """
    if not x.dtype.is_floating_point:
        return x / y
    return x / hlo.select(is_nan(x), x, y)


def horner(x: Value, coefficients) -> Value:
    """The polynomial with `coefficients`, highest power first, at `x`."""
    result = number(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = result * x + number(coefficient, x)
    return result


LN2 = math.log(2.0)
