"""Rules for products of narrow operands with scales: float8 and weight-only int8.

The operands are widened to float32, which holds every float8 and int8 exactly.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import operands, rule_for
from torch_neuronx.lowering.matmul import product
from torch_neuronx.lowering.registry import runs_on_host

aten = torch.ops.aten


def _wide(x):
    return hlo.convert(x, torch.float32)


@rule_for(aten._scaled_mm.default)
def scaled_mm(
    out, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, fast=False
):
    """(a @ b) * scale_a * scale_b + bias; scales are one number or one per row of a, column of b.

    scale_result divides a float8 result and is ignored otherwise, as on CPU.
    """
    result = product(_wide(a), _wide(b))
    for scale in (scale_a, scale_b):
        scale = hlo.reshape(scale, ()) if scale.numel == 1 else scale
        result = result * hlo.broadcast_to(scale, result.shape)
    if bias is not None:
        result = result + hlo.broadcast_to(_wide(bias), result.shape)
    if scale_result is not None and out.dtype.itemsize == 1:
        result = result / hlo.broadcast_to(hlo.reshape(scale_result, ()), result.shape)
    return hlo.convert(result, out.dtype)


# torch.nn.functional.ScalingType, as far as PyTorch's CPU kernel has it.
_TENSOR_WISE, _ROW_WISE = 0, 1


@rule_for(aten._scaled_mm_v2.default)
def scaled_mm_v2(
    out,
    a,
    b,
    scale_a,
    recipe_a,
    swizzle_a,
    scale_b,
    recipe_b,
    swizzle_b,
    bias,
    out_dtype,
    contraction_dim=(),
    use_fast_accum=False,
):
    """`scaled_mm` with one scale for a tensor or one for each row of a, column of b."""
    recipes = {*recipe_a, *recipe_b}
    if not recipes <= {_TENSOR_WISE, _ROW_WISE} or any(swizzle_a) or any(swizzle_b):
        raise NotImplementedError(
            f"aten::_scaled_mm_v2 with the scaling recipes {recipe_a} and {recipe_b}: a neuron "
            "device, like the CPU, has TensorWise and RowWise without a swizzle"
        )
    return scaled_mm(out, a, b, scale_a[0], scale_b[0], bias)


@rule_for(aten._weight_int8pack_mm.default)
def weight_int8pack_mm(out, x, weight, scales):
    """(x @ weight.T) * scales with weight int8 [out, in] and one scale per row of it."""
    result = hlo.dot_general(_wide(x), _wide(weight), contract=([1], [1]))
    return hlo.convert(result * operands(out, scales)[0], out.dtype)


runs_on_host(
    aten._convert_weight_to_int4pack_for_cpu.default,
    aten._weight_int4pack_mm_for_cpu.default,
    aten._dyn_quant_pack_4bit_weight.default,
    aten._dyn_quant_matmul_4bit.default,
    reason="how it packs 4-bit weights is the CPU kernel's own business",
)
