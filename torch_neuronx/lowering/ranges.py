"""Rules for evenly spaced numbers: arange, range, linspace, logspace.

The count of elements is the output's shape; start, end and step are values. They are run-time where
PyTorch's count does not depend on them, and in arange of integers, whose count is in the key.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import quotient, rounded, rule_for

aten = torch.ops.aten


def _steps(out, start, step, dtype):
    """start + i * step, in `dtype`."""
    index = hlo.convert(hlo.iota(out.shape, 0, torch.int64), dtype)
    return hlo.convert(index * hlo.number(step, dtype) + hlo.number(start, dtype), out.dtype)


def _accumulate_dtype(dtype):
    """What ATen's range kernels compute in: double for floats, int64 for integers."""
    return torch.float64 if dtype.is_floating_point else torch.int64


@rule_for(aten.arange.default, static=("end",))
def arange(out, end, *, dtype=None):
    return _steps(out, 0, 1, _accumulate_dtype(out.dtype))


@rule_for(aten.arange.start)
def arange_start(out, start, end, *, dtype=None):
    return _steps(out, start, 1, _accumulate_dtype(out.dtype))


@rule_for(aten.range.step, static=("start", "end", "step"))
@rule_for(aten.arange.start_step)
def arange_step(out, start, end, step=1, *, dtype=None):
    return _steps(out, start, step, _accumulate_dtype(out.dtype))


def _spaced(out, start, end, steps, cast=lambda x: x):
    """Computed from the nearer end, as ATen's linspace kernel, so that both ends are exact.

    Both ends are cast to the result's dtype first; integers go on in float64. `cast` rounds the
    result of every operation.
    """
    exact = not (out.dtype.is_floating_point or out.dtype.is_complex)
    dtype = torch.float64 if exact else compute_dtype(out.dtype)
    half = hlo.iota(out.shape, 0, torch.int64) < max(steps // 2, 1)

    def along(index):
        return cast(cast(hlo.convert(index, dtype)) * step)

    start, end = (_cast(x, out.dtype, dtype) for x in (start, end))
    reach, intervals = cast(end - start), hlo.number(max(steps - 1, 1), dtype)
    step = cast(quotient(reach, intervals))
    index = hlo.iota(out.shape, 0, torch.int64)
    return hlo.select(half, cast(start + along(index)), cast(end - along(steps - 1 - index)))


def _cast(x, dtype, wide):
    """The number x rounded to `dtype`, held in `wide`."""
    if dtype in (torch.bfloat16, torch.float16):
        return rounded(hlo.number(x, wide), dtype)
    return hlo.convert(hlo.number(x, dtype), wide)


@rule_for(
    aten.linspace.default,
    aten.linspace.Tensor_Tensor,
    aten.linspace.Tensor_Scalar,
    aten.linspace.Scalar_Tensor,
)
def linspace(out, start, end, steps, *, dtype=None):
    """bfloat16 and float16 round after every operation, as in ATen's kernel (not logspace's)."""
    spaced = _spaced(out, start, end, steps, lambda x: rounded(x, out.dtype))
    return hlo.convert(spaced, out.dtype)


@rule_for(
    aten.logspace.default,
    aten.logspace.Tensor_Tensor,
    aten.logspace.Tensor_Scalar,
    aten.logspace.Scalar_Tensor,
)
def logspace(out, start, end, steps, base=10.0, *, dtype=None):
    exponent = _spaced(out, start, end, steps)
    return hlo.convert(hlo.pow(hlo.number(base, exponent.dtype), exponent), out.dtype)
