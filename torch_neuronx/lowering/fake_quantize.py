"""Rules of fake quantisation: rounding to a quantised grid and back, in floating point.

q = zero_point + round(x / scale), clamped to [quant_min, quant_max]; the result is
(q - zero_point) * scale. The mask says where nothing was clamped. Gradients of learnable scales and
zero points are those of LSQ (Esser et al., 2020) as ATen writes them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import any_true
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.elementwise import is_nan, rule_for, where
from torch_neuronx.lowering.reduction import total
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

_INT64_LIMIT = float(2**63)


class Grid(NamedTuple):
    """scale, 1 / scale and zero point, all of x's shape and dtype, and the limits of q. `wraps`:
    what no int64 can hold becomes the lowest."""

    scale: Value
    inverse: Value
    zero_point: Value
    low: int
    high: int
    wraps: bool


def _spread(v, x: Value, axis: int | None) -> Value:
    """The number, or the number of each slice along `axis`, for every element of `x`."""
    wide = v.dtype if isinstance(v, Value) and v.dtype == torch.float64 else torch.float32
    v = hlo.convert(v, wide)
    v = hlo.reshape(v, (-1,) if axis is not None and v.ndim else ())
    v = hlo.convert(v, x.dtype)
    return hlo.broadcast_in_dim(v, x.shape, [axis] if axis is not None and v.ndim else [])


def grid_of(x: Value, scale, zero_point, axis: int | None, low: int, high: int) -> Grid:
    """1 / scale is rounded to float32, and per channel q goes through int64: ATen's kernels."""
    narrow = hlo.convert(scale, torch.float32)
    inverse = hlo.full(narrow.shape, 1.0, torch.float32) / narrow
    narrow, inverse, zero_point = (_spread(v, x, axis) for v in (narrow, inverse, zero_point))
    return Grid(narrow, inverse, zero_point, low, high, wraps=axis is not None)


def _quantized(x: Value, grid: Grid) -> tuple[Value, Value]:
    """q before clamping, and whether it is within the limits."""
    q = grid.zero_point + hlo.round_even(x * grid.inverse)
    return q, (q >= float(grid.low)) & (q <= float(grid.high))


def _clamped(q: Value, grid: Grid) -> Value:
    """NaN goes to the lower limit."""
    lost = is_nan(q)
    if grid.wraps:
        lost = lost | (hlo.abs(q) >= _INT64_LIMIT)
    return where(lost, float(grid.low), hlo.min(hlo.max(q, float(grid.low)), float(grid.high)))


def faked(out, x: Value, grid: Grid) -> tuple[Value, Value]:
    q, within = _quantized(x, grid)
    value = (_clamped(q, grid) - grid.zero_point) * grid.scale
    return hlo.convert(value, out.dtype), within


def _wide(x: Value) -> Value:
    return hlo.convert(x, compute_dtype(x.dtype))


@rule_for(aten.fake_quantize_per_tensor_affine_cachemask.default)
def per_tensor(out, x, scale, zero_point, quant_min, quant_max):
    x = _wide(x)
    return faked(out[0], x, grid_of(x, scale, zero_point, None, quant_min, quant_max))


@lowers(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default)
def per_tensor_from_tensors(out, x, scale, zero_point, enabled, quant_min, quant_max):
    """Where it is not enabled, x passes and nothing is masked."""
    given, x = x, _wide(x)
    value, within = faked(out[0], x, grid_of(x, scale, zero_point, None, quant_min, quant_max))
    off = hlo.broadcast_to(hlo.reshape(enabled, ()) == 0, x.shape)
    return hlo.select(off, given, value), within | off


@lowers(aten.fake_quantize_per_channel_affine_cachemask.default)
def per_channel(out, x, scale, zero_point, axis, quant_min, quant_max):
    beyond = (zero_point < quant_min) | (zero_point > quant_max)
    if not zero_point.dtype.is_floating_point and zero_point.numel:
        check(
            any_true(beyond),
            "RuntimeError",
            "`zero_point` must be between `quant_min` and `quant_max`.",
        )
    x = _wide(x)
    grid = grid_of(x, scale, zero_point, hlo.wrap_dim(axis, x.ndim), quant_min, quant_max)
    return faked(out[0], x, grid)


def _whole(zero_point: Value, low: int, high: int, *, floor: bool = False) -> Value:
    """A learnt zero point as an integer within the limits; `floor`: by adding 1/2 and truncating,
    as ATen's backward pass of one zero point has it."""
    z = hlo.convert(zero_point, torch.float32)
    z = z + 0.5 if floor else hlo.round_even(z)
    z = hlo.min(hlo.max(z, float(low)), float(high))
    return hlo.convert(hlo.convert(z, torch.int64), torch.float32)


@lowers(aten._fake_quantize_learnable_per_tensor_affine.default)
def learnable_per_tensor(out, x, scale, zero_point, quant_min, quant_max, grad_factor=1.0):
    x, z = _wide(x), _whole(zero_point, quant_min, quant_max)
    return faked(out, x, grid_of(x, scale, z, None, quant_min, quant_max))[0]


@lowers(aten._fake_quantize_learnable_per_channel_affine.default)
def learnable_per_channel(out, x, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0):
    x, z = _wide(x), _whole(zero_point, quant_min, quant_max)
    axis = hlo.wrap_dim(axis, x.ndim)
    return faked(out, x, grid_of(x, scale, z, axis, quant_min, quant_max))[0]


def _gradients(grad: Value, x: Value, grid: Grid, grad_factor) -> tuple[Value, Value, Value]:
    """Of x, and not yet summed of the scale and the zero point."""
    q, within = _quantized(x, grid)
    steps = _clamped(q, grid) - grid.zero_point
    error = (steps * grid.scale - x) * grid.inverse
    factor = hlo.full(x.shape, grad_factor, x.dtype)
    of_scale = grad * hlo.select(within, error, steps) * factor
    of_zero_point = where(within, 0.0, -grad * grid.scale * factor)
    return where(within, grad, 0.0), of_scale, of_zero_point


@rule_for(aten._fake_quantize_learnable_per_tensor_affine_backward.default)
def learnable_per_tensor_backward(
    out, grad, x, scale, zero_point, quant_min, quant_max, grad_factor=1.0
):
    x, grad = _wide(x), _wide(grad)
    z = _whole(zero_point, quant_min, quant_max, floor=True)
    grid = grid_of(x, scale, z, None, quant_min, quant_max)
    of_x, *rest = _gradients(grad, x, grid, grad_factor)
    sums = [total(r, list(range(x.ndim))) for r in rest]
    return tuple(
        hlo.reshape(hlo.convert(v, m.dtype), m.shape)
        for v, m in zip((of_x, *sums), out, strict=True)
    )


@rule_for(aten._fake_quantize_learnable_per_channel_affine_backward.default)
def learnable_per_channel_backward(
    out, grad, x, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0
):
    x, grad, axis = _wide(x), _wide(grad), hlo.wrap_dim(axis, x.ndim)
    z = _whole(zero_point, quant_min, quant_max)
    grid = grid_of(x, scale, z, axis, quant_min, quant_max)
    of_x, *rest = _gradients(grad, x, grid, grad_factor)
    sums = [total(r, [d for d in range(x.ndim) if d != axis]) for r in rest]
    return tuple(
        hlo.reshape(hlo.convert(v, m.dtype), m.shape)
        for v, m in zip((of_x, *sums), out, strict=True)
    )
