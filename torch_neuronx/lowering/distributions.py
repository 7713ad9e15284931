"""Distributions by transforming uniform and normal numbers, and sampling of categories.

exponential, geometric, cauchy, log_normal, multinomial. Those that reject (gamma, poisson,
binomial, dirichlet) have no program of fixed length: PyTorch's CPU kernels draw them.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo, kernels, rng
from torch_neuronx.lowering.addressing import any_true
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.prefix import prefix_sum
from torch_neuronx.lowering.random import cosine_of_turn, gaussian, open_unit, unit
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.searching import lower_or_upper_bound
from torch_neuronx.lowering.sorting import top
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def _draws_by_kernel(op) -> None:
    """The kernel's generator starts from the state that one 64-bit number an element is drawn
    from."""

    def rule(out, *args):
        return kernels.call(op, out, *args, generator=rng.draw_state(out.shape, 64))

    lowers(op)(rule)


for _op in (aten._standard_gamma, aten._sample_dirichlet, aten.binomial, aten.poisson):
    _draws_by_kernel(_op.default)


def parameter(value, dtype: torch.dtype) -> Value:
    return hlo.number(value, dtype)


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype to draw in for a result that may be an integer."""
    return dtype if dtype.is_floating_point else torch.float32


@lowers(aten.exponential.default, runtime=("lambd",))
def _exponential(out, x, lambd=1.0):
    wide = compute_dtype(out.dtype)
    rate = parameter(lambd, wide)
    check(rate <= 0.0, "RuntimeError", "exponential_ expects lambda > 0.0")
    return hlo.convert(standard_exponential(out.shape, wide) / rate, out.dtype)


def standard_exponential(shape, dtype: torch.dtype) -> Value:
    """-log of a uniform number, kept positive where that rounds to one."""
    return hlo.max(-hlo.log(open_unit(shape, dtype)), torch.finfo(dtype).eps / 2)


@lowers(aten.geometric.default, runtime=("p",))
def _geometric(out, x, p):
    """Trials up to the first success: ceil(log u / log(1 - p))."""
    wide = compute_dtype(real_dtype(out.dtype))
    p = parameter(p, wide)
    check(~((p > 0.0) & (p < 1.0)), "RuntimeError", "geometric_ expects p to be in (0, 1)")
    waits = hlo.ceil(standard_exponential(out.shape, wide) / -hlo.log1p(-p))
    return hlo.convert(waits, out.dtype)


@lowers(aten.cauchy.default, runtime=("median", "sigma"))
def _cauchy(out, x, median=0.0, sigma=1.0):
    """tan(pi (u - 1/2)) = -cos(pi u) / sin(pi u)."""
    wide = compute_dtype(out.dtype)
    median, sigma = parameter(median, wide), parameter(sigma, wide)
    check(sigma <= 0.0, "RuntimeError", "cauchy_ expects sigma > 0.0")
    half = hlo.min(open_unit(out.shape, wide), 1 - torch.finfo(wide).eps) * 0.5
    slope = -cosine_of_turn(half) / cosine_of_turn(half - 0.25)
    return hlo.convert(slope * sigma + median, out.dtype)


@lowers(aten.log_normal.default, runtime=("mean", "std"))
def _log_normal(out, x, mean=1.0, std=2.0):
    wide = compute_dtype(out.dtype)
    mean, std = parameter(mean, wide), parameter(std, wide)
    check(std <= 0.0, "RuntimeError", "log_normal_ expects std > 0.0")
    return hlo.convert(hlo.exp(gaussian(out.shape, wide) * std + mean), out.dtype)


BAD_WEIGHTS = "probability tensor contains either `inf`, `nan` or element < 0"
NO_WEIGHT = "invalid multinomial distribution (sum of probabilities <= 0)"


@lowers(aten.multinomial.default)
def _multinomial(out, x, num_samples, replacement=False):
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    weights = hlo.convert(x, compute_dtype(x.dtype))
    total = hlo.reduce(weights, [-1], "add", keepdim=True)
    good = hlo.is_finite(weights) & (weights >= 0.0)
    check(any_true(~good), "RuntimeError", BAD_WEIGHTS)
    check(any_true(total <= 0.0), "RuntimeError", NO_WEIGHT)
    sample = with_replacement if replacement else without_replacement
    return sample(weights, total, num_samples)


def with_replacement(weights: Value, total: Value, count: int) -> Value:
    """Inverse of the cumulative distribution; never lands on a weight of zero."""
    cumulative = prefix_sum(weights, weights.ndim - 1)
    level = unit((*weights.shape[:-1], count), weights.dtype) * total
    place = lower_or_upper_bound(cumulative, level, right=True)
    last = hlo.reduce(
        hlo.select(weights > 0.0, hlo.iota(weights.shape, weights.ndim - 1, torch.int64), 0),
        [-1], "max", keepdim=True,
    )  # fmt: skip
    return hlo.min(place, last)


def without_replacement(weights: Value, total: Value, count: int) -> Value:
    """The `count` earliest arrivals of exponential clocks that run at the weights (Efraimidis,
    2006).
    """
    arrivals = weights / standard_exponential(weights.shape, weights.dtype)
    return top(arrivals, count, greatest=True)
