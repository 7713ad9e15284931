"""Rules for the regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x).

A power series for small x, a continued fraction beyond (Abramowitz and Stegun 6.5.29 and 6.5.31),
each run until every element has converged. Computed in float64, as the prefactor loses digits to
cancellation for large a, where ATen switches to an asymptotic expansion.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import number, operands, rule_for, where
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

EPS = torch.finfo(torch.float64).eps
# ATen's own bound on the terms of either expansion.
MOST_TERMS = 2000


def _until_converged(inits, active, body) -> list[Value]:
    """Repeats `body` on the elements where `active` still holds."""

    def cond(i, *state):
        return hlo.reduce(active(*state), None, "or") & (i < MOST_TERMS)

    def step(i, *state):
        live = active(*state)
        after = body(*state)
        return [i + 1, *(hlo.select(live, n, o) for n, o in zip(after, state, strict=True))]

    return hlo.while_([hlo.number(0, torch.int32), *inits], cond, step)[1:]


def _series(a: Value, x: Value) -> Value:
    """sum over k of x**k / ((a + 1) ... (a + k))."""

    def body(r, term, total):
        term = term * x / (r + 1.0)
        return r + 1.0, term, total + term

    one = number(1.0, x)
    inits = [a, one, one]
    return _until_converged(inits, lambda r, term, total: term > total * EPS, body)[2]


def _fraction(a: Value, x: Value) -> Value:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), by Lentz's method."""

    def body(k, b, c, d, value, change):
        k, b = k + 1.0, b + 2.0
        factor = k * (a - k)
        d = 1.0 / (b + factor * d)
        c = b + factor / c
        return k, b, c, d, value * c * d, c * d

    b = x + 1.0 - a
    first = 1.0 / b
    inits = [number(0.0, x), b, number(1e300, x), first, first, number(0.0, x)]
    active = lambda k, b, c, d, value, change: hlo.abs(change - 1.0) > EPS  # noqa: E731
    return _until_converged(inits, active, body)[4]


def regularised(a: Value, x: Value) -> tuple[Value, Value]:
    """P and Q for float64 operands; Q from the continued fraction where x > max(1, a)."""
    far = (x > 1.0) & (x > a)
    fit = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    scale = hlo.exp(a * hlo.log(x) - x - hlo.lgamma(a))
    near_a, near_x = where(fit & ~far, a, number(1.0, a)), where(fit & ~far, x, number(0.5, x))
    far_a, far_x = where(fit & far, a, number(1.0, a)), where(fit & far, x, number(2.0, x))
    p = _series(near_a, near_x) * scale / a
    q = _fraction(far_a, far_x) * scale
    p, q = hlo.select(far, 1.0 - q, p), hlo.select(far, q, 1.0 - p)
    return _limits(a, x, p, 0.0), _limits(a, x, q, 1.0)


def _limits(a: Value, x: Value, value: Value, at_zero: float) -> Value:
    """`at_zero` is the value at x = 0 and for infinite a; its complement for a = 0 and infinite
    x.
    """
    value = where(x == math.inf, 1.0 - at_zero, value)
    value = where(a == math.inf, where(x == math.inf, math.nan, number(at_zero, x)), value)
    value = where(x == 0, at_zero, value)
    value = where(a == 0, where(x > 0, 1.0 - at_zero, number(math.nan, x)), value)
    return where((a >= 0) & (x >= 0), value, number(math.nan, x))


def _incomplete(which: int):
    def rule(out, a, x):
        a, x = operands(out, a, x, dtype=torch.float64)
        return (
            hlo.convert(regularised(a, x)[which], out.dtype)
            if a.numel
            else hlo.convert(a, out.dtype)
        )

    return rule


rule_for(aten.igamma.default)(_incomplete(0))
rule_for(aten.igammac.default)(_incomplete(1))
