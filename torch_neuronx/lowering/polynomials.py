"""Rules for orthogonal polynomials of run-time degree: Chebyshev, Hermite, Laguerre, Legendre.

Each is its three-term recurrence from 1 and `first`, run for all elements until the largest degree
(ATen native/Math.h). A degree is truncated to a whole number; below 0 the value is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import number, pointwise, where
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


class Family(NamedTuple):
    """first(x) is the polynomial of degree 1; step(x, k, p, q) that of degree k + 1 from k - 1
    and k.
    """

    first: Callable[[Value], Value]
    step: Callable[[Value, Value, Value, Value], Value]
    limit: dict[torch.dtype, int] | None = None


def _chebyshev(first, shifted=False):
    def centred(x):
        return x + x - 1.0 if shifted else x

    return Family(lambda x: first(centred(x)), lambda x, k, p, q: 2.0 * centred(x) * q - p)


# Past these degrees ATen's Hermite polynomials are NaN.
HERMITE_LIMIT = {torch.float32: 128, torch.float64: 512}

FIRST = {
    "t": lambda x: x,
    "u": lambda x: 2.0 * x,
    "v": lambda x: 2.0 * x - 1.0,
    "w": lambda x: 2.0 * x + 1.0,
}

FAMILIES = {
    "hermite_polynomial_h": Family(
        lambda x: 2.0 * x, lambda x, k, p, q: 2.0 * x * q - 2.0 * k * p, HERMITE_LIMIT
    ),
    "hermite_polynomial_he": Family(lambda x: x, lambda x, k, p, q: x * q - k * p, HERMITE_LIMIT),
    "laguerre_polynomial_l": Family(
        lambda x: 1.0 - x, lambda x, k, p, q: ((2.0 * k + 1.0 - x) * q - k * p) / (k + 1.0)
    ),
    "legendre_polynomial_p": Family(
        lambda x: x, lambda x, k, p, q: ((2.0 * k + 1.0) * x * q - k * p) / (k + 1.0)
    ),
}
for _kind, _first in FIRST.items():
    FAMILIES[f"chebyshev_polynomial_{_kind}"] = _chebyshev(_first)
    FAMILIES[f"shifted_chebyshev_polynomial_{_kind}"] = _chebyshev(_first, shifted=True)


def _polynomial(family: Family):
    def rule(x, n):
        degree = hlo.convert(n, torch.int32)
        if not x.numel:
            return x
        highest = hlo.reduce(degree, None, "max")
        if family.limit:
            highest = hlo.min(highest, family.limit[x.dtype])

        def step(k, p, q):
            after = family.step(x, hlo.broadcast_to(hlo.convert(k, x.dtype), x.shape), p, q)
            active = hlo.broadcast_to(k, x.shape) < degree
            return k + 1, hlo.select(active, q, p), hlo.select(active, after, q)

        start = [hlo.number(1, torch.int32), number(1, x), family.first(x)]
        _, _, value = hlo.while_(start, lambda k, p, q: k < highest, step)
        value = where(degree == 0, 1, where(degree < 0, 0, value))
        if family.limit:
            value = where(degree > family.limit[x.dtype], math.nan, value)
        return value

    return rule


for _name, _family in FAMILIES.items():
    _packet = getattr(aten, f"special_{_name}")
    pointwise(_packet.default, _packet.x_scalar, _packet.n_scalar)(_polynomial(_family))
