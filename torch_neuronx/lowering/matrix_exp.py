"""The rule of the matrix exponential: scaling and squaring around a Taylor polynomial.

The polynomial is evaluated by Paterson and Stockmeyer's scheme. ATen's kernel (Bader, Blanes and
Casas, 2019) chooses among five degrees; here the highest serves all, and each matrix is scaled by
its own power of two.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.matrices import batched, identity, product
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

# dtype -> (degree, the 1-norm up to which the polynomial has the dtype's precision).
_POLYNOMIALS = {torch.float32: (11, 0.95), torch.float64: (19, 1.0)}
_STEP = 4  # powers kept


def _polynomial(a: Value, degree: int) -> Value:
    """sum of a**k / k! up to `degree`, in blocks of _STEP terms."""
    powers = [identity(a.shape, a.dtype), a]
    while len(powers) <= _STEP:
        powers.append(product(powers[-1], a))
    blocks = [
        _combined(powers, [1 / math.factorial(k) for k in range(low, min(low + _STEP, degree + 1))])
        for low in range(0, degree + 1, _STEP)
    ]
    value = blocks[-1]
    for block in blocks[-2::-1]:
        value = product(value, powers[_STEP]) + block
    return value


def _combined(powers: list[Value], coefficients: list[float]) -> Value:
    value = powers[0] * coefficients[0]
    for power, coefficient in zip(powers[1:], coefficients[1:], strict=False):
        value = value + power * coefficient
    return value


@lowers(aten.linalg_matrix_exp.default)
def _matrix_exp(out, a):
    if not a.numel:
        return a
    a = batched(a)
    real = a.dtype.to_real() if a.dtype.is_complex else a.dtype
    degree, bound = _POLYNOMIALS[real]
    norm = hlo.reduce(hlo.reduce(hlo.abs(a), [1], "add"), [1], "max", keepdim=True)
    times = hlo.ceil(hlo.log(norm / bound) * (1 / math.log(2.0)))
    most = -math.log2(torch.finfo(real).tiny)
    times = hlo.min(hlo.max(times, 0.0), most)
    times = hlo.convert(hlo.select(hlo.is_nan(times), 0.0, times), torch.int32)
    halved = hlo.pow(hlo.full(norm.shape, 2.0, real), -hlo.convert(times, real))
    halved = hlo.broadcast_in_dim(hlo.reshape(halved, norm.shape[:1]), a.shape, [0])
    value = _polynomial(a * hlo.convert(halved, a.dtype), degree)
    return hlo.reshape(_squared(value, hlo.reshape(times, norm.shape[:1])), out.shape)


def _squared(x: Value, times: Value) -> Value:
    """Each matrix squared times[b] times."""

    def step(i, x):
        wanted = hlo.broadcast_in_dim(times > hlo.full(times.shape, i, i.dtype), x.shape, [0])
        return [i + 1, hlo.select(wanted, product(x, x), x)]

    most = hlo.reduce(times, [0], "max")
    return hlo.while_([hlo.number(0, torch.int32), x], lambda i, _: i < most, step)[1]
