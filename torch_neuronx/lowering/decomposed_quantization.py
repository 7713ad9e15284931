"""The ops quantized_decomposed::*, in which exported graphs (PT2E) write quantised models.

Their kernels are Python over ATen ops, and serve eager calls as they are. In a graph those that
read a scale on the host cannot be traced, nor those that look at the data to refuse it: here they
are said without that. Called by the backend of torch.compile, once torch.ao has defined the ops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

_DEFINED_IN = "torch.ao.quantization.fx._decomposed"
_AS_THEY_ARE = (
    "quantize_per_tensor",
    "dequantize_per_tensor",
    "quantize_per_channel",
    "dequantize_per_channel",
    "choose_qparams_per_token",
    "quantize_per_token",
    "dequantize_per_token",
    "dequantize_per_channel_group",
)


def decompositions() -> dict[OpOverload, Callable[..., Any]]:
    if _DEFINED_IN not in sys.modules:
        return {}
    module, ops = sys.modules[_DEFINED_IN], torch.ops.quantized_decomposed
    table = {getattr(ops, name).default: getattr(module, name) for name in _AS_THEY_ARE}
    table.update(
        {
            ops._choose_qparams_per_token_asymmetric_impl.default: (
                module._choose_qparams_per_token_asymmetric_impl
            ),
            ops.convert_element_type.no_fuse: module.convert_element_type,
            ops.quantize_per_tensor.tensor: _quantize,
            ops.quantize_per_tensor.tensor2: _quantize,
            ops.dequantize_per_tensor.tensor: _dequantize,
            ops.dequantize_per_tensor.tensor2: _dequantize,
            ops.choose_qparams.tensor: _choose_affine,
            ops.choose_qparams_symmetric.tensor: _choose_symmetric,
            ops.quantize_per_channel_group.default: _quantize_groups,
        }
    )
    return table


def _quantize(x, scale, zero_point, quant_min, quant_max, dtype):
    """1 / scale is computed in float64, as it is where a kernel has the scale as a number."""
    inverse = (1.0 / scale.reshape(()).double()).float()
    q = torch.round(x.float() * inverse) + zero_point.reshape(()).float()
    return torch.clamp(q, int(quant_min), int(quant_max)).to(dtype)


def _dequantize(x, scale, zero_point, quant_min, quant_max, dtype, *, out_dtype=None):
    out_dtype = out_dtype or torch.float32
    wide = torch.promote_types(out_dtype, torch.float32)
    steps = x.to(out_dtype) - zero_point.reshape(()).to(out_dtype)
    return (steps.to(wide) * scale.reshape(()).to(wide)).to(out_dtype)


def _quantize_groups(x, scales, zero_points, quant_min, quant_max, dtype, group_size=128):
    """Groups of the last dimension of the matrix `x`."""
    if group_size > x.shape[-1] and scales.shape[-1] == 1:
        group_size = x.shape[-1]
    groups = x.reshape(-1, group_size)
    q = groups.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return q.clamp(quant_min, quant_max).to(dtype).reshape(x.shape)


def _range(x):
    """The smallest and the largest element, with zero among them."""
    low, high = torch.aminmax(x)
    return torch.clamp(low, max=0.0), torch.clamp(high, min=0.0)


def _choose_affine(x, quant_min, quant_max, eps, dtype):
    """(scale float64[1], zero_point int64[1])"""
    low, high = _range(x)
    scale = torch.clamp(((high - low) / float(quant_max - quant_min)).float(), min=eps)
    zero_point = quant_min - torch.round(low / scale).to(torch.int)
    return _as_parameters(scale, torch.clamp(zero_point, quant_min, quant_max))


def _choose_symmetric(x, quant_min, quant_max, eps, dtype):
    low, high = _range(x)
    largest = torch.maximum(-low, high)
    scale = torch.clamp((largest / (float(quant_max - quant_min) / 2)).float(), min=eps)
    middle = 128 if dtype == torch.uint8 else 0
    return _as_parameters(scale, torch.full_like(scale, middle, dtype=torch.int64))


def _as_parameters(scale, zero_point):
    return scale.reshape(1).to(torch.float64), zero_point.reshape(1).to(torch.int64)
