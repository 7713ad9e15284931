"""Rules for the remaining special functions: x log y, entropy, normal quantiles, the
logarithm of gamma and its derivatives.

erf and digamma are in `pointwise`, Bessel functions in `bessel`, the polynomials in
`polynomials`, the incomplete gamma functions in `incomplete_gamma`.
"""

from __future__ import annotations

import functools
import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.chebyshev import approximate
from torch_neuronx.lowering.elementwise import is_nan, number, operands, pointwise, rule_for, where
from torch_neuronx.lowering.pointwise import digamma

aten = torch.ops.aten


def _times_log(log):
    """x * log(y), 0 where x is 0 unless y is NaN."""

    def fn(x, y):
        product = where(x == 0, 0, x * log(y))
        return where(is_nan(y), math.nan, product)

    return fn


for _packet, _log in ((aten.xlogy, hlo.log), (aten.special_xlog1py, hlo.log1p)):
    for _op in (getattr(_packet, name) for name in _packet.overloads()):
        if not _op._schema.is_mutable:
            pointwise(_op, casts_numbers=True)(_times_log(_log))


@pointwise(aten.special_entr.default)
def entropy(x):
    """-x log x; 0 at 0, -inf below, NaN of NaN."""
    value = -x * hlo.log(x)
    return hlo.select(is_nan(x), x, where(x > 0, value, where(x == 0, 0, number(-math.inf, x))))


# ---- the normal distribution -------------------------------------------------------------------


def _erfcx_samples(t):
    """t in [-1, 1] is 8 / (4 + x) - 1, which takes [0, inf) onto it."""
    return torch.special.erfcx(8.0 / (t + 1.0) - 4.0)


def _erfcx_of_positive(x):
    return approximate(_erfcx_samples, 8.0 / (x + 4.0) - 1.0, count=64)


@pointwise(aten.special_erfcx.default)
def erfcx(x):
    """exp(x**2) erfc(x); below 0 by reflection."""
    value = _erfcx_of_positive(hlo.abs(x))
    return hlo.select(x < 0, 2.0 * hlo.exp(x * x) - value, value)


@pointwise(aten.special_log_ndtr.default)
def log_ndtr(x):
    """log of the normal distribution function, from the tail that keeps precision."""
    t = hlo.abs(x) * math.sqrt(0.5)
    left = hlo.log(_erfcx_of_positive(t) * 0.5) - t * t
    return hlo.select(x < 0, left, hlo.log1p(hlo.erfc(t) * -0.5))


# The tail of the quantile begins at p = exp(-2), where sqrt(-2 log p) is 2, and ends where p
# underflows. The further part has an interpolant of its own: its samples are rounded coarsely.
TAILS = ((2.0, 8.0), (8.0, 38.0))
CENTRE = 0.5 - math.exp(-2.0)


def _ndtri_centre(t):
    w = torch.sqrt((t + 1.0) * 0.5) * CENTRE
    return torch.special.ndtri(0.5 + w) / w


@functools.cache
def _ndtri_tail(first, last):
    """h(1/z) of `ndtri` at 1/z between 1/last and 1/first, as t between -1 and 1."""

    def samples(t):
        z = 1.0 / (1.0 / last + (t + 1.0) * 0.5 * (1.0 / first - 1.0 / last))
        return (z - torch.log(z) / z + torch.special.ndtri(torch.exp(z * z * -0.5))) * z

    return samples


def _ndtri_h(z, first, last):
    t = (1.0 / z - 1.0 / last) * (2.0 / (1.0 / first - 1.0 / last)) - 1.0
    return approximate(_ndtri_tail(first, last), t)


@pointwise(aten.special_ndtri.default)
def ndtri(p):
    """The normal quantile: w g(w**2) around 1/2, z - log(z) / z - h(1/z) / z in the tails."""
    w = p - 0.5
    centre = w * approximate(_ndtri_centre, w * w * (2.0 / CENTRE**2) - 1.0)
    z = hlo.sqrt(-2.0 * hlo.log(hlo.min(p, 1.0 - p)))
    near, far = (_ndtri_h(z, *ends) for ends in TAILS)
    tail = z - hlo.log(z) / z - hlo.select(z < TAILS[0][1], near, far) / z
    value = hlo.select(hlo.abs(w) <= CENTRE, centre, hlo.select(w < 0, -tail, tail))
    value = where(p == 0, -math.inf, where(p == 1, math.inf, value))
    return where((p < 0) | (p > 1), math.nan, value)


# ---- derivatives of the gamma function ---------------------------------------------------------


@pointwise(aten.special_zeta.default, aten.special_zeta.other_scalar, aten.special_zeta.self_scalar)
def zeta(s, q):
    """sum (q + k)**-s: chlo's for q > 0, to which a negative q is raised term by term."""
    if not q.numel:
        return q
    whole = hlo.floor(q) == q
    low = (q < 0) & ~whole

    def raise_(q, head):
        active = low & (q < 0)
        return hlo.select(active, q + 1.0, q), where(active, head + hlo.pow(q, -s), head)

    inits = [q, number(0, q)]
    up, head = hlo.while_(inits, lambda q, head: hlo.reduce(low & (q < 0), None, "or"), raise_)
    # chlo's multiplies eleven numbers as large as s; then all but the first term are negligible.
    upper = hlo.select(s > 1000.0, hlo.pow(up, -s), hlo.zeta(s, up))
    value = where(whole & (q <= 0), math.inf, upper + head)
    return where(s == 1, math.inf, where(s < 1, math.nan, value))


def _trigamma(x):
    """psi'(x), by reflection below 1/2; zeta has no limit at infinity."""
    low = x < 0.5
    value = hlo.zeta(number(2.0, x), hlo.select(low, 1.0 - x, x))
    value = where(x == math.inf, 0.0, value)
    sine = hlo.sine(x * math.pi)
    return hlo.select(low, (math.pi**2) / (sine * sine) - value, value)


@rule_for(aten.polygamma.default)
def polygamma(out, n, x):
    """(-1)**(n + 1) n! zeta(n + 1, x)."""
    (x,) = operands(out, x)
    if n == 0:
        value = digamma(x)
    elif n == 1:
        value = _trigamma(x)
    else:
        value = zeta(number(n + 1.0, x), x) * ((-1) ** (n + 1) * math.gamma(n + 1.0))
    return hlo.convert(value, out.dtype)


# Where lgamma is small: the series that serves elsewhere has an absolute error of a few eps.
GAMMA_NEAR, SHIFTS = (0.75, 2.5), 6


def _gamma_near(t):
    """lgamma without its zeros at 1 and 2, of x in GAMMA_NEAR as t in [-1, 1]."""
    low, high = GAMMA_NEAR
    x = (t * (high - low) + (high + low)) / 2
    return torch.lgamma(x) / ((x - 1.0) * (x - 2.0))


@pointwise(aten.lgamma.default)
def lgamma(x):
    """Up to GAMMA_NEAR plus SHIFTS through lgamma(x) = log(x - 1) + lgamma(x - 1)."""
    low, high = GAMMA_NEAR
    inside, factors = hlo.clamp(low, x, high + SHIFTS), number(1.0, x)
    for _ in range(SHIFTS):
        less, far = inside - 1.0, inside > high
        factors = hlo.select(far, factors * less, factors)
        inside = hlo.select(far, less, inside)
    smooth = approximate(_gamma_near, (inside * 2.0 - (high + low)) * (1 / (high - low)))
    near = (inside - 1.0) * (inside - 2.0) * smooth + hlo.log(factors)
    near = where(near == 0, 0.0, near)  # never -0, which a division would see
    return hlo.select(hlo.and_(x >= low, x <= high + SHIFTS), near, hlo.lgamma(x))


@rule_for(aten.mvlgamma.default)
def mvlgamma(out, x, p):
    """log of the multivariate gamma function: p(p-1)/4 log(pi) + sum of lgamma(x - j/2)."""
    (x,) = operands(out, x)
    total = number(p * (p - 1) / 4.0 * math.log(math.pi), x)
    for j in range(p):
        total = total + lgamma(x - j / 2.0)
    return hlo.convert(total, out.dtype)
