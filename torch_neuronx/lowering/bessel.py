"""Rules for Bessel functions: I, J, K and Y of orders 0 and 1, and the spherical j0.

Near zero each is a smooth function of x or x**2, plus a known logarithm or pole; far out an
exponential or a phase times a smooth function of 1/x (Abramowitz and Stegun, 9.1, 9.2, 9.6, 9.7).
The smooth parts are Chebyshev interpolants. Airy's function has no rule.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.chebyshev import approximate
from torch_neuronx.lowering.elementwise import pointwise, where

aten = torch.ops.aten
special = torch.special

# Where the near and the far form meet.
NEAR_I, NEAR_J, NEAR_K = 4.0, 5.0, 2.0


# ---- I: x = |x| in [0, 4] as t = x / 2 - 1; beyond, t = 8 / x - 1 ------------------------------


def _i_near(t):
    return (t + 1.0) * (NEAR_I / 2)


def _i_far(t):
    return 2.0 * NEAR_I / (t + 1.0)


def _i0e_near(t):
    return special.i0e(_i_near(t))


def _i0e_far(t):
    return special.i0e(_i_far(t)) * torch.sqrt(_i_far(t))


def _i1e_near(t):
    return special.i1e(_i_near(t)) / _i_near(t)


def _i1e_far(t):
    return special.i1e(_i_far(t)) * torch.sqrt(_i_far(t))


@pointwise(aten.special_i0e.default)
def i0e(x):
    x = hlo.abs(x)
    near = approximate(_i0e_near, x * (2 / NEAR_I) - 1.0)
    far = approximate(_i0e_far, 2 * NEAR_I / hlo.max(x, NEAR_I) - 1.0) / hlo.sqrt(x)
    return hlo.select(x <= NEAR_I, near, far)


@pointwise(aten.special_i1e.default)
def i1e(x):
    size = hlo.abs(x)
    near = approximate(_i1e_near, size * (2 / NEAR_I) - 1.0) * x
    far = approximate(_i1e_far, 2 * NEAR_I / hlo.max(size, NEAR_I) - 1.0) / hlo.sqrt(size)
    return hlo.select(size <= NEAR_I, near, hlo.select(x < 0, -far, far))


@pointwise(aten.i0.default, aten.special_modified_bessel_i0.default)
def i0(x):
    return i0e(x) * hlo.exp(hlo.abs(x))


@pointwise(aten.special_i1.default, aten.special_modified_bessel_i1.default)
def i1(x):
    return i1e(x) * hlo.exp(hlo.abs(x))


# ---- K: x in (0, 2] as t = x**2 / 2 - 1; beyond, t = 4 / x - 1 ---------------------------------


def _k_near(t):
    return torch.sqrt((t + 1.0) * 2.0)


def _k_far(t):
    return 2.0 * NEAR_K / (t + 1.0)


def _k0_near(t):
    x = _k_near(t)
    return special.modified_bessel_k0(x) + torch.log(x / 2.0) * special.modified_bessel_i0(x)


def _k0_far(t):
    return special.scaled_modified_bessel_k0(_k_far(t)) * torch.sqrt(_k_far(t))


def _k1_near(t):
    x = _k_near(t)
    return x * (special.modified_bessel_k1(x) - torch.log(x / 2.0) * special.modified_bessel_i1(x))


def _k1_far(t):
    return special.scaled_modified_bessel_k1(_k_far(t)) * torch.sqrt(_k_far(t))


def _k(x, near, far, scale_near, scale_far):
    """`near` up to 2, `far` beyond; infinite at 0, NaN below."""
    tail = approximate(far, 2 * NEAR_K / hlo.max(x, NEAR_K) - 1.0) / hlo.sqrt(x)
    value = hlo.select(x <= NEAR_K, near * scale_near, tail * scale_far)
    return where(x == 0, math.inf, where(x < 0, math.nan, value))


def _k0(x, scale_near, scale_far):
    near = approximate(_k0_near, x * x * 0.5 - 1.0) - hlo.log(x * 0.5) * i0(x)
    return _k(x, near, _k0_far, scale_near, scale_far)


def _k1(x, scale_near, scale_far):
    near = approximate(_k1_near, x * x * 0.5 - 1.0) / x + hlo.log(x * 0.5) * i1(x)
    return _k(x, near, _k1_far, scale_near, scale_far)


for _order, _fn in ((0, _k0), (1, _k1)):
    pointwise(getattr(aten, f"special_modified_bessel_k{_order}").default)(
        lambda x, fn=_fn: fn(x, 1.0, hlo.exp(-x))
    )
    pointwise(getattr(aten, f"special_scaled_modified_bessel_k{_order}").default)(
        lambda x, fn=_fn: fn(x, hlo.exp(x), 1.0)
    )


# ---- J and Y: x = |x| in [0, 5] as t = 2 x**2 / 25 - 1; beyond, t = 50 / x**2 - 1 --------------
#
# Far out J = sqrt(2 / pi x) (P cos - Q sin) and Y = sqrt(2 / pi x) (P sin + Q cos) at x less a
# phase.

PHASE = {0: math.pi / 4, 1: 3 * math.pi / 4}
J = {0: special.bessel_j0, 1: special.bessel_j1}
Y = {0: special.bessel_y0, 1: special.bessel_y1}


def _j_near(t):
    return torch.sqrt((t + 1.0) * (NEAR_J**2 / 2))


def _j_far(t):
    return torch.sqrt(2.0 * NEAR_J**2 / (t + 1.0))


def _far_parts(order):
    """P and x Q as functions of t."""

    def parts(t):
        x = _j_far(t)
        angle, size = x - PHASE[order], torch.sqrt(x * (math.pi / 2))
        j, y = J[order](x) * size, Y[order](x) * size
        cos, sin = torch.cos(angle), torch.sin(angle)
        return j * cos + y * sin, (y * cos - j * sin) * x

    return (lambda t: parts(t)[0]), (lambda t: parts(t)[1])


FAR = {order: _far_parts(order) for order in (0, 1)}


def _far(x, order, second_kind):
    x = hlo.max(x, NEAR_J)
    t = 2 * NEAR_J**2 / (x * x) - 1.0
    p, q = (approximate(fn, t) for fn in FAR[order])
    q, angle = q / x, x - PHASE[order]
    cos, sin = hlo.cosine(angle), hlo.sine(angle)
    wave = p * sin + q * cos if second_kind else p * cos - q * sin
    return wave * hlo.sqrt(2.0 / math.pi / x)


def _near_t(x):
    return hlo.min(x * x * (2 / NEAR_J**2) - 1.0, 1.0)


def _j0_near(t):
    return special.bessel_j0(_j_near(t))


def _j1_near(t):
    return special.bessel_j1(_j_near(t)) / _j_near(t)


def _y0_near(t):
    x = _j_near(t)
    return special.bessel_y0(x) - torch.log(x) * special.bessel_j0(x) * (2 / math.pi)


def _y1_near(t):
    x = _j_near(t)
    rest = (special.bessel_j1(x) * torch.log(x) - 1.0 / x) * (2 / math.pi)
    return (special.bessel_y1(x) - rest) / x


@pointwise(aten.special_bessel_j0.default)
def j0(x):
    x = hlo.abs(x)
    return hlo.select(x <= NEAR_J, approximate(_j0_near, _near_t(x)), _far(x, 0, False))


@pointwise(aten.special_bessel_j1.default)
def j1(x):
    size = hlo.abs(x)
    far = _far(size, 1, False)
    near = approximate(_j1_near, _near_t(x)) * x
    return hlo.select(size <= NEAR_J, near, hlo.select(x < 0, -far, far))


def _second_kind(x, near, order):
    value = hlo.select(x <= NEAR_J, near, _far(x, order, True))
    return where(x == 0, -math.inf, where(x < 0, math.nan, value))


@pointwise(aten.special_bessel_y0.default)
def y0(x):
    near = approximate(_y0_near, _near_t(x)) + hlo.log(x) * j0(x) * (2 / math.pi)
    return _second_kind(x, near, 0)


@pointwise(aten.special_bessel_y1.default)
def y1(x):
    rest = (j1(x) * hlo.log(x) - 1.0 / x) * (2 / math.pi)
    return _second_kind(x, approximate(_y1_near, _near_t(x)) * x + rest, 1)


@pointwise(aten.special_spherical_bessel_j0.default)
def spherical_j0(x):
    """sin(x) / x, 1 at 0 and 0 at infinity."""
    infinite = hlo.abs(x) == math.inf
    return where(infinite, 0, where(x == 0, 1, hlo.sine(x) / x))
