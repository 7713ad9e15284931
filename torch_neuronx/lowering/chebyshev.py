"""Approximation of smooth functions by Chebyshev interpolants.

The coefficients are not tabulated: when a rule runs, the function is sampled with PyTorch's own CPU
kernel in float64 and interpolated. Called by `special` and `bessel`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch

from torch_neuronx.lowering.elementwise import number
from torch_neuronx.lowering.value import Value

# Samples per coefficient: the kernels' roundings are averaged, or each would pass on its own.
OVERSAMPLING = 16


@functools.cache
def coefficients(fn: Callable[[torch.Tensor], torch.Tensor], count: int) -> tuple[float, ...]:
    """The first `count` of the interpolant of `fn` at Chebyshev points of the first kind.

    Each is rounded a few times only: the errors of all of them add up in the approximation.
    """
    points = count * OVERSAMPLING
    odd = 2 * torch.arange(points) + 1
    samples = fn(_cosine(odd, 2 * points))
    terms = _cosine(torch.arange(count)[:, None] * odd, 2 * points) * samples
    sums = [math.fsum(row) * (2.0 / points) for row in terms.tolist()]
    return (sums[0] / 2.0, *sums[1:])


def _cosine(numerator: torch.Tensor, half: int) -> torch.Tensor:
    """cos(pi * numerator / half) of integers, reduced while they are exact."""
    turn = numerator % (2 * half)
    return torch.cos(torch.minimum(turn, 2 * half - turn).double() * (math.pi / half))


def approximate(fn: Callable[[torch.Tensor], torch.Tensor], t: Value, count: int = 32) -> Value:
    """`fn` at t in [-1, 1] (anything outside), by Clenshaw's recurrence."""
    before, last = number(0.0, t), number(0.0, t)
    c = coefficients(fn, count)
    for value in reversed(c[1:]):
        before, last = last, 2.0 * t * last - before + value
    return t * last - before + c[0]
