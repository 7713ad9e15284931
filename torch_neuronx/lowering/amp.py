"""Rules for torch.amp.GradScaler: unscaling with a test for infinities, and the scale's update.

Semantics are those of ATen's native/cpu/AmpGradScalerKernels.cpp.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number, rule_for

aten = torch.ops.aten


@rule_for(aten._amp_foreach_non_finite_check_and_unscale.default)
def unscale(out, grads, found_inf, inv_scale):
    """found_inf becomes 1 if any gradient is not finite; a scale of exactly 1 leaves them
    bitwise.
    """
    scaled = []
    for grad in grads:
        wide = hlo.convert(grad, compute_dtype(grad.dtype))
        bad = hlo.reduce(~hlo.is_finite(wide), None, "or")
        found_inf = hlo.select(hlo.broadcast_to(bad, found_inf.shape), 1.0, found_inf)
        factor = hlo.broadcast_to(number(hlo.reshape(inv_scale, ()), wide), wide.shape)
        scaled.append(hlo.convert(hlo.select(factor == 1, wide, wide * factor), grad.dtype))
    return scaled, found_inf


@rule_for(aten._amp_update_scale.default)
def update_scale(out, scale, growth_tracker, found_inf, growth, backoff, interval):
    """Backs off on an infinity; grows after `interval` steps without one, unless that overflows."""
    found = found_inf != 0
    streak = growth_tracker + 1
    due = streak == interval
    grown = scale * number(growth, scale)
    grown = hlo.select(due & hlo.is_finite(grown), grown, scale)
    tracker = hlo.select(found | due, 0, streak)
    return hlo.select(found, scale * number(backoff, scale), grown), tracker
