"""Dropout with its mask, and randomised leaky ReLU. Their gradients are in
activation_backward.py.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.random import between, coin, probability
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def keep(x: Value, probability_kept: Value) -> tuple[Value, Value]:
    """(x with each element zeroed or divided by the probability of keeping it, bool mask)."""
    mask = coin(x.shape, hlo.broadcast_to(probability_kept, x.shape))
    wide = compute_dtype(x.dtype)
    kept = hlo.convert(probability_kept, wide)
    scale = hlo.select(kept == 0.0, 0.0, 1.0 / kept) if not wide.is_complex else 1.0 / kept
    scaled = hlo.convert(x, wide) * hlo.convert(mask, wide) * hlo.broadcast_to(scale, x.shape)
    return hlo.convert(scaled, x.dtype), mask


@lowers(aten.native_dropout.default, runtime=("p",))
def _native_dropout(out, x, p, train):
    if train is False or not x.numel:
        return x, hlo.full(x.shape, True, out[1].dtype)
    kept = probability(1.0 - hlo.number(p, torch.float64), "bernoulli_ expects p to be in [0, 1]")
    return keep(x, hlo.convert(kept, torch.float32))


@lowers(aten._fused_dropout.default, runtime=("p",))
def _fused_dropout(out, x, p):
    """`p` is the probability of keeping; the mask has the metadata's dtype."""
    kept = probability(hlo.number(p, torch.float32), "bernoulli_ expects p to be in [0, 1]")
    result, mask = keep(x, kept)
    return result, hlo.convert(mask, out[1].dtype)


@lowers(aten.rrelu_with_noise_functional.default, runtime=("lower", "upper"))
def _rrelu(out, x, noise, lower=0.125, upper=1 / 3, training=False):
    """(result, noise). In training the slope of each negative element is drawn; else it is the
    mean.
    """
    wide = compute_dtype(x.dtype)
    wider = hlo.convert(x, wide)
    if not training:
        slope = (hlo.number(lower, wide) + hlo.number(upper, wide)) / 2.0
        result = hlo.select(wider <= 0.0, wider * hlo.broadcast_to(slope, x.shape), wider)
        return hlo.convert(result, x.dtype), noise
    drawn = between(x.shape, x.dtype, lower, upper)
    slope = hlo.select(wider <= 0.0, drawn, 1.0)
    return hlo.convert(wider * slope, x.dtype), hlo.convert(slope, noise.dtype)
