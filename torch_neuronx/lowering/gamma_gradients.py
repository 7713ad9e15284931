"""Derivatives of samples with respect to their distribution's parameters: gamma and Dirichlet.

The approximations are those of ATen's Distributions.h, each for its own part of the domain,
computed in float64 and chosen element by element.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import horner, is_nan, number, operands, rule_for, where
from torch_neuronx.lowering.pointwise import digamma
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

# Of powers of log alpha, lowest first: a row for each power of log(x / alpha).
_P = (
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758),
    (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777),
)
_Q = (
    (1.0, 0.32668115, 0.10406089, 0.0014179084),
    (0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    (0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07),
)
# [power of log x][power of a][power of b], see `_dirichlet_rational`.
_DIRICHLET_P = (
    ((1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
     (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
     (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013)),
    ((0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
     (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
     (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05)),
    ((-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
     (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
     (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05)),
)  # fmt: skip
_DIRICHLET_Q = (
    ((1.0, -0.02924021934, -0.04438342661, 0.007285809825),
     (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
     (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149)),
    ((0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
     (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
     (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05)),
    ((0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
     (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
     (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06)),
)  # fmt: skip


def _finite(x: Value) -> Value:
    return where(is_nan(x), 0.0, x)


def _gamma_small(alpha: Value, x: Value) -> Value:
    """A Taylor series, for x < 0.8."""
    term, power = alpha, number(1.0, x)
    first, second = 1.0 / alpha, 1.0 / (alpha * alpha)
    for i in range(1, 6):
        power, term = power * -x * (1.0 / i), term + 1.0
        first, second = first + power / term, second + power / (term * term)
    scale = hlo.pow(x, alpha)
    slope = (hlo.log(x) - digamma(alpha)) * scale * first - scale * second
    return _finite(-slope / (hlo.pow(x, alpha - 1.0) * hlo.exp(-x)))


def _gamma_large(alpha: Value, x: Value) -> Value:
    """Rice's saddle point expansion, for alpha > 8; a polynomial around x = alpha."""
    square = alpha * alpha
    near = (alpha * 24.0 * (alpha * 12.0 + 1.0) + 1.0) * (
        square * 1440.0
        + x * 6.0 * (53.0 - x * 120.0)
        - x * x * 65.0 / alpha
        + alpha * (x * 3600.0 + 107.0)
    )
    near = near / (square * square * 1244160.0)
    away, log = alpha - x, hlo.log(x / alpha)
    root = hlo.sqrt(alpha * 8.0)
    third = hlo.pow(x - alpha - alpha * log, number(-1.5, x))
    both = root / away + hlo.select(x < alpha, -third, third)
    first = log * both - hlo.sqrt(2.0 / alpha) * (alpha + x) / (away * away)
    stirling = 1.0 / (alpha * 12.0) * (1.0 / (alpha * 24.0) + 1.0) + 1.0
    around = (x >= alpha * 0.9) & (x <= alpha * 1.1)
    return hlo.select(around, near, -stirling * x * first / root)


def _gamma_rational(alpha: Value, x: Value) -> Value:
    u, v = hlo.log(x / alpha), hlo.log(alpha)

    def polynomial(rows) -> Value:
        columns = [horner(u, column[::-1]) for column in zip(*rows, strict=True)]
        value = columns[-1]
        for column in columns[-2::-1]:
            value = value * v + column
        return value

    return hlo.exp(polynomial(_P) / polynomial(_Q))


@rule_for(aten._standard_gamma_grad.default)
def standard_gamma_grad(out, alpha, x):
    """d sample / d alpha, where `x` is the sample."""
    alpha, x = operands(out, alpha, x, dtype=torch.float64)
    value = hlo.select(alpha > 8.0, _gamma_large(alpha, x), _gamma_rational(alpha, x))
    return hlo.convert(hlo.select(x < 0.8, _gamma_small(alpha, x), value), out.dtype)


def _beta_alpha_small(x: Value, alpha: Value, beta: Value) -> Value:
    """By alpha, for x near 0."""
    factor = digamma(alpha) - digamma(alpha + beta) - hlo.log(x)
    power, series = number(1.0, x), 1.0 / alpha * (factor + 1.0 / alpha)
    for i in range(1, 11):
        power = power * (float(i) - beta) * x * (1.0 / i)
        term = alpha + float(i)
        series = series + power / term * (factor + 1.0 / term)
    return _finite(x * hlo.pow(1.0 - x, -beta) * series)


def _beta_beta_small(x: Value, alpha: Value, beta: Value) -> Value:
    """By beta, for x near 0."""
    factor = digamma(alpha + beta) - digamma(beta)
    power, betas, slopes, series = number(1.0, x), number(1.0, x), number(0.0, x), factor / alpha
    for i in range(1, 9):
        power = power * -x * (1.0 / i)
        slopes, betas = slopes * (beta - float(i)) + betas, betas * (beta - float(i))
        series = series + power / (alpha + float(i)) * (slopes + factor * betas)
    return _finite(-hlo.pow(1.0 - x, 1.0 - beta) * series)


def _stirling(x: Value) -> Value:
    return 1.0 / (x * 12.0) + 1.0 / (x * x * 288.0) + 1.0


def _beta_alpha_mid(x: Value, alpha: Value, beta: Value) -> Value:
    """By alpha, for large alpha and beta: Rice's expansion, and a polynomial around the mean."""
    sum_ = alpha + beta
    mean = alpha / sum_
    deviation = hlo.sqrt(alpha * beta / (sum_ + 1.0)) / sum_
    near = _beta_mean(x, alpha, beta, sum_)
    lean = alpha * (x - 1.0) + beta * x
    first = alpha * alpha * 2.0 * (x - 1.0) + alpha * beta * (x - 1.0) - x * beta * beta
    first = first / (hlo.sqrt(alpha * 2.0 / beta) * hlo.pow(sum_, number(1.5, x)) * lean * lean)
    log = hlo.log(alpha / (sum_ * x))
    third = hlo.sqrt(alpha * 8.0 * beta / sum_) / lean
    base = beta * hlo.log(beta / (sum_ * (1.0 - x))) + alpha * log
    fourth = hlo.pow(base, number(-1.5, x))
    total = first + log * 0.5 * (third + hlo.select(x < mean, fourth, -fourth))
    scale = _stirling(alpha) * _stirling(beta) / _stirling(sum_)
    far = -scale * x / hlo.sqrt(alpha * 2.0 * beta / sum_) * total
    around = (x >= mean - deviation * 0.1) & (x <= mean + deviation * 0.1)
    return hlo.select(around, near, far)


def _beta_mean(x: Value, alpha: Value, beta: Value, sum_: Value) -> Value:
    square = beta * beta
    rest = 1.0 - x
    polynomial = x * 47.0 * square * square + alpha * (
        ((beta * 27.0 + 16.0) * 20.0 * x + 43.0) * square * beta
        + alpha * ((beta * 180.0 + 59.0 - x * 90.0) * 3.0 * square
        + alpha * ((beta * 1620.0 * rest + 453.0 - x * 455.0) * beta
        + alpha * (rest * 8.0 * (beta * 135.0 - 11.0))))
    )  # fmt: skip
    numerator = (alpha * 12.0 + 1.0) * (beta * 12.0 + 1.0) / (sum_ * sum_)
    denominator = alpha * alpha * alpha * square * 12960.0 * (sum_ * 12.0 + 1.0)
    return numerator / rest * polynomial / denominator


def _dirichlet_rational(x: Value, alpha: Value, sum_: Value) -> Value:
    """A rational correction of x (psi(sum) - psi(alpha)) / (sum - alpha)."""
    u = hlo.log(x)
    a = hlo.log(alpha) - u
    b = hlo.log(sum_) - a

    def polynomial(table) -> Value:
        value = number(0.0, x)
        for rows in reversed(table):
            inner = number(0.0, x)
            for row in reversed(rows):
                inner = inner * a + horner(b, row[::-1])
            value = value * u + inner
        return value

    approximation = x * (digamma(sum_) - digamma(alpha)) / (sum_ - alpha)
    return polynomial(_DIRICHLET_P) / polynomial(_DIRICHLET_Q) * approximation


@rule_for(aten._dirichlet_grad.default)
def dirichlet_grad(out, x, alpha, total):
    """A sample's derivative by its own alpha over 1 - x; `total` is the sum of all alphas."""
    x, alpha, total = operands(out, x, alpha, total, dtype=torch.float64)
    beta, boundary = total - alpha, total * x * (1.0 - x)
    value = _dirichlet_rational(x, alpha, total)
    value = hlo.select((alpha > 6.0) & (beta > 6.0), _beta_alpha_mid(x, alpha, beta), value)
    upper = (x >= 0.5) & (boundary < 0.75)
    value = hlo.select(upper, -_beta_beta_small(1.0 - x, beta, alpha), value)
    lower = (x <= 0.5) & (boundary < 2.5)
    return hlo.convert(hlo.select(lower, _beta_alpha_small(x, alpha, beta), value), out.dtype)
