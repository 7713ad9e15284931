"""The fused observer of quantisation-aware training: a moving range, the grid that it gives, and
fake quantisation on that grid.

The grid is chosen as FBGEMM's ChooseQuantizationParams does, in its mixture of float32 and float64:
zero is on it, symmetric grids have it in the middle, and a scale is at least 6.1e-5.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import number, rule_for, where
from torch_neuronx.lowering.fake_quantize import Grid, faked, grid_of
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

_SMALLEST_SCALE = 6.1e-5
_SCALE_OF_NOTHING = 0.1


@rule_for(aten._fused_moving_avg_obs_fq_helper_functional.default)
def fused_moving_average(
    out, x, observer_on, fake_quant_on, running_min, running_max, scale, zero_point,
    averaging_const, quant_min, quant_max, ch_axis,
    per_row_fake_quant=False, symmetric_quant=False,
):  # fmt: skip
    """(output, mask, and the new range, scale and zero point); with one range, or one per row."""
    per_row = per_row_fake_quant
    if x.dtype != torch.float32 or not x.numel or (per_row and (ch_axis != 0 or x.ndim != 2)):
        raise NotImplementedError("the fused observer takes float32, and ranges of rows")
    ranges = x.shape[0] if per_row else 1
    if any(v.numel != ranges for v in (running_min, running_max, scale, zero_point)):
        raise NotImplementedError("its range is not as many numbers as it observes")
    observed, is_faked = (hlo.reshape(flag, ()) != 0 for flag in (observer_on, fake_quant_on))
    low = _moved(x, running_min, "min", averaging_const, observed, per_row)
    high = _moved(x, running_max, "max", averaging_const, observed, per_row)
    chosen, middle = _chosen(low, high, quant_min, quant_max, symmetric_quant)
    y, mask = faked(out[0], x, _grid(x, chosen, middle, per_row, quant_min, quant_max))
    off = ~hlo.broadcast_to(is_faked, x.shape)
    return (
        hlo.select(off, x, y),
        mask | off,
        low,
        high,
        *(_if(is_faked, hlo.reshape(hlo.convert(new, old.dtype), old.shape), old)
          for new, old in ((chosen, scale), (middle, zero_point))),
    )  # fmt: skip


def _if(pred: Value, x: Value, y: Value) -> Value:
    return hlo.select(hlo.broadcast_to(pred, x.shape), x, y)


def _grid(x: Value, scale: Value, zero_point: Value, per_row: bool, low: int, high: int) -> Grid:
    return grid_of(
        x, scale, hlo.convert(zero_point, torch.int32), 0 if per_row else None, low, high
    )


def _moved(x: Value, running: Value, kind: str, step, observed: Value, per_row: bool) -> Value:
    """The range's end after a step towards that of x; what is infinite has seen nothing yet."""
    seen = hlo.reduce(x, [1] if per_row else list(range(x.ndim)), kind)
    seen = hlo.reshape(seen, running.shape)
    step = number(hlo.convert(hlo.number(step, torch.float64), torch.float32), running)
    moved = running + step * (seen - running)
    is_new = hlo.abs(running) == float("inf")
    return _if(observed, hlo.select(is_new, seen, moved), running)


def _chosen(
    low: Value, high: Value, quant_min: int, quant_max: int, symmetric: bool
) -> tuple[Value, Value]:
    """(float32 scale, float32 zero point) of ranges in float32."""
    steps = quant_max - quant_min
    spans_zero = (low < 0.0) & (high > 0.0)
    if symmetric:
        first, last = -(steps // 2 + 1), steps // 2
        widest = _wide(hlo.max(hlo.abs(low / float(first)), hlo.abs(high / float(last))))
        low = hlo.select(spans_zero, _narrow(widest * float(first)), low)
        high = hlo.select(spans_zero, _narrow(widest * float(last)), high)
    low, high = hlo.min(low, 0.0), hlo.max(high, 0.0)
    scale = (_wide(high) - _wide(low)) / float(steps)
    lost = (_narrow(scale) == 0.0) | (hlo.abs(1.0 / _narrow(scale)) == float("inf"))
    scale = where(lost, _SCALE_OF_NOTHING, scale)
    scale, low, high = _of_least_scale(scale, low, high, steps)
    middle = _zero_point(scale, _wide(low), _wide(high), quant_min, quant_max)
    if symmetric:
        middle = where(spans_zero, (quant_min + quant_max) / 2, middle)
    middle = hlo.round_even(hlo.min(hlo.max(middle, float(quant_min)), float(quant_max)))
    return _narrow(scale), _narrow(middle)


def _of_least_scale(
    scale: Value, low: Value, high: Value, steps: int
) -> tuple[Value, Value, Value]:
    """A scale below the smallest one is that one, and the range widens with it."""
    least = float(torch.tensor(_SMALLEST_SCALE, dtype=torch.float32))
    small = scale < least
    factor = least / _narrow(scale)
    wide_low = hlo.select(high == 0.0, hlo.full(low.shape, -least * steps, low.dtype), low * factor)
    wide_high = hlo.select(low == 0.0, hlo.full(low.shape, least * steps, low.dtype), high * factor)
    return (
        where(small, least, scale),
        hlo.select(small, wide_low, low),
        hlo.select(small, wide_high, high),
    )


def _zero_point(scale: Value, low: Value, high: Value, quant_min: int, quant_max: int) -> Value:
    """From the end of the range at which it is rounded less."""
    below, above = low / scale, high / scale
    from_low = hlo.abs(below) + float(abs(quant_min)) < hlo.abs(above) + float(abs(quant_max))
    return hlo.select(from_low, float(quant_min) - below, float(quant_max) - above)


def _wide(x: Value) -> Value:
    return hlo.convert(x, torch.float64)


def _narrow(x: Value) -> Value:
    return hlo.convert(x, torch.float32)
