"""sin and cos of large float32 tensors, which XLA:CPU computes at half of PyTorch's speed.

XLA reduces each argument as if it were huge. Here the multiple of pi/2 is taken off in three steps
(Cody and Waite), which vectorizes, and XLA's operator serves only a tensor in which an argument is
too large for that, infinite or NaN. Small tensors and other dtypes are left to XLA. Called by
`pointwise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.value import Value

# pi/2 in three parts (Cephes, sinf.c): the first two times a quadrant below 2**13 are exact.
_HALF_PI = (1.5703125, 4.837512969970703125e-4, 7.5497899548918821e-8)
_LARGEST = 8192.0  # larger arguments may lie beyond 2**13 quadrants
_SMALL = 4096  # elements: below, a launch costs more than the operator

# Minimax polynomials on [-pi/4, pi/4] in r*r (Cephes, sinf.c), highest power first.
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def sin(x: Value) -> Value:
    return _by_size(x, hlo.sine, 0)


def cos(x: Value) -> Value:
    return _by_size(x, hlo.cosine, 1)


def _by_size(x: Value, general: Callable[[Value], Value], shift: int) -> Value:
    if x.dtype != torch.float32 or x.numel < _SMALL:
        return general(x)
    reduced = _reduced(x, shift)
    # As integers, which order magnitudes as the floats do, and infinities and NaN above them.
    magnitude = hlo.bitcast(x, torch.int32) & 0x7FFFFFFF
    limit = torch.tensor(_LARGEST).view(torch.int32).item()
    beyond = hlo.reduce(magnitude, None, "max") > limit
    return hlo.if_(beyond, lambda: general(x), lambda: reduced, [(x.shape, x.dtype)])[0]


def _reduced(x: Value, shift: int) -> Value:
    """sin(x + shift * pi/2) for arguments up to _LARGEST."""
    quadrant = hlo.round_even(x * (2 / math.pi))
    rest = x
    for part in _HALF_PI:
        rest = rest - quadrant * part
    turn = hlo.convert(quadrant, torch.int32) + shift
    square = rest * rest
    sine = rest + rest * square * _horner(_SIN, square)
    cosine = 1.0 - square * 0.5 + square * square * _horner(_COS, square)
    sine = hlo.select(x == 0, x, sine)  # keeps the sign of -0.0
    value = hlo.select((turn & 1) == 0, sine, cosine)
    return hlo.select((turn & 2) == 0, value, -value)


def _horner(coefficients: tuple[float, ...], x: Value) -> Value:
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value
