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
    """The first `count` of the interpolant of `fn` at Chebyshev points of the first kind."""
    points = count * OVERSAMPLING
    angle = (torch.arange(points, dtype=torch.float64) + 0.5) * (math.pi / points)
    samples = fn(torch.cos(angle))
    k = torch.arange(count, dtype=torch.float64)
    sums = torch.cos(k[:, None] * angle) @ samples * (2.0 / points)
    sums[0] /= 2.0
    return tuple(sums.tolist())


def approximate(fn: Callable[[torch.Tensor], torch.Tensor], t: Value, count: int = 32) -> Value:
    """`fn` at t in [-1, 1] (anything outside), by Clenshaw's recurrence."""
    before, last = number(0.0, t), number(0.0, t)
    c = coefficients(fn, count)
    for value in reversed(c[1:]):
        before, last = last, 2.0 * t * last - before + value
    return t * last - before + c[0]
