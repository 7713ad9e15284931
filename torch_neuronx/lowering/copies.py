"""Rules that copy: casts, clones, fills. Memory formats are the output's strides, not these
rules' matter.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import operands, rule_for
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten


@rule_for(
    aten._to_copy.default,
    aten.clone.default,
    aten.alias_copy.default,
    aten.detach_copy.default,
    aten.lift.default,
    aten.lift_fresh.default,
    aten.lift_fresh_copy.default,
    aten._lazy_clone.default,
)
def copied(out, x, **_):
    return hlo.convert(x, out.dtype)


@lowers(aten.dequantize.self)
def dequantized(out, x):
    """Of a tensor that is not quantized."""
    return hlo.convert(x, out.dtype)


@rule_for(torch.ops.prims.convert_element_type.default)
def converted(out, x, dtype):
    return hlo.convert(x, out.dtype)


@rule_for(aten.copy.default)
def copy(out, x, source, non_blocking=False):
    return operands(out, source, dtype=out.dtype)[0]


@rule_for(aten.fill.Scalar, aten.fill.Tensor)
def fill(out, x, value):
    return operands(out, value, dtype=out.dtype)[0]


@rule_for(aten.zero.default)
def zero(out, x):
    return hlo.full(out.shape, 0, out.dtype)
