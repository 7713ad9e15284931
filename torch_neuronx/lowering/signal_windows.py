"""Rules for window functions that PyTorch computes in a kernel of its own: Kaiser's.

The other windows are made of arange and cosines by PyTorch's composite kernels.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.bessel import i0
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number, rule_for

aten = torch.ops.aten


@rule_for(aten.kaiser_window.default, aten.kaiser_window.periodic, aten.kaiser_window.beta)
def kaiser_window(out, length, periodic=True, beta=12.0, *, dtype=None):
    """I0(beta sqrt(1 - r**2)) / I0(beta) with r from -1 to 1 over the window (Kaiser, 1974)."""
    if length == 1:
        return hlo.full(out.shape, 1, out.dtype)
    dtype = compute_dtype(out.dtype)
    span = length if periodic else length - 1
    ratio = hlo.convert(hlo.iota(out.shape, 0, torch.int64), dtype) * (2.0 / span) - 1.0
    beta = number(beta, ratio)
    shape = hlo.sqrt(hlo.max(1.0 - ratio * ratio, 0.0))
    return hlo.convert(i0(beta * shape) / i0(beta), out.dtype)
