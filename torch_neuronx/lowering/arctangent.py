"""atan and atan2 of real numbers, with Cephes' approximations (atan.c, atanf.c).

Not left to XLA: its XLA:CPU turns atan2(x, 1), which is how atan is written there, into a call of
a vector routine that mixes up the elements of 64 and more. Called by `complex_functions`,
`arithmetic` and `complex`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import copysign, horner, is_nan, number, signbit
from torch_neuronx.lowering.value import Value


class _Approximation(NamedTuple):
    """atan(x) is x + x * z * above(z) / below(z) with z = x * x, for |x| up to `near`."""

    near: float
    above: tuple[float, ...]
    below: tuple[float, ...]


_FLOAT = _Approximation(
    math.sqrt(2) - 1,
    (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1),
    (),
)
_DOUBLE = _Approximation(
    0.66,
    (
        -8.750608600031904122785e-1,
        -1.615753718733365076637e1,
        -7.500855792314704667340e1,
        -1.228866684490136173410e2,
        -6.485021904942025371773e1,
    ),
    (
        1.0,
        2.485846490142306297962e1,
        1.650270098316988542046e2,
        4.328810604912902668951e2,
        4.853903996359136964868e2,
        1.945506571482613964425e2,
    ),
)
_FAR = math.sqrt(2) + 1
_REST = 6.123233995736765886130e-17  # pi/2 less the float64 nearest to it


def atan(x: Value) -> Value:
    """Of float32 or float64; the narrower floats compute in float32."""
    return copysign(_of_positive(hlo.abs(x)), x)


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y); signed zeros and infinities as in C."""
    up, right = hlo.abs(y), hlo.abs(x)
    # 0/0 stands for 0 and inf/inf for 1, as points on an axis and on a diagonal.
    at_zero = hlo.compare(up, number(0, up), "EQ")
    alike = hlo.compare(up, right, "EQ")
    slope = hlo.select(alike, number(1, up), up / right)
    angle = _of_positive(hlo.select(at_zero, number(0, up), slope))
    angle = hlo.select(signbit(x), number(math.pi, angle) - angle, angle)
    return hlo.select(is_nan(x) | is_nan(y), x + y, copysign(angle, y))


def _of_positive(x: Value) -> Value:
    """Arguments between `near` and _FAR turn by pi/4, larger ones by pi/2."""
    form = _DOUBLE if x.dtype == torch.float64 else _FLOAT
    far, near = x > _FAR, x <= form.near
    turned = hlo.select(far, -1.0 / x, hlo.select(near, x, (x - 1.0) / (x + 1.0)))
    start = hlo.select(far, math.pi / 2, hlo.select(near, 0.0, number(math.pi / 4, x)))
    rest = hlo.select(far, _REST, hlo.select(near, 0.0, number(_REST / 2, x)))
    return start + (turned + turned * _series(form, turned * turned) + rest)


def _series(form: _Approximation, square: Value) -> Value:
    value = square * horner(square, form.above)
    return value / horner(square, form.below) if form.below else value
