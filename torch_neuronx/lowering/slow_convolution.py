"""The CPU's fallback convolutions as ops of their own: `convolution` with one group.

Their weights may be given as a matrix, [O, C * taps], and their inputs without a batch.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.convolution import convolution, convolution_backward_overrideable
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Meta, Value

aten = torch.ops.aten


def _run(
    out: Meta, x: Value, weight: Value, taps, bias, stride, padding,
    dilation=(1,), transposed=False, extra=(0,),
) -> Value:  # fmt: skip
    batch = () if x.ndim > len(taps) + 1 else (1,)
    shaped = Meta((*batch, *out.shape), out.dtype, (0,) * len(batch) + out.strides)
    x = hlo.reshape(x, (*batch, *x.shape))
    kernel = weight if transposed else _kernel(weight, taps)
    y = convolution(shaped, x, kernel, bias, stride, padding, dilation, transposed, extra, 1)
    return hlo.reshape(y, out.shape)


def _kernel(weight: Value, taps) -> Value:
    if weight.ndim == len(taps) + 2:
        return weight
    channels = weight.numel // (weight.shape[0] * torch.Size(taps).numel())
    return hlo.reshape(weight, (weight.shape[0], channels, *taps))


@lowers(aten._slow_conv2d_forward.default, aten.slow_conv3d_forward.default)
def _forward(out, x, weight, kernel_size, bias, stride, padding):
    return _run(out, x, weight, kernel_size, bias, stride, padding)


@lowers(aten._slow_conv2d_backward.output_mask)
def _backward(out, grad, x, weight, kernel_size, stride, padding, output_mask):
    kernel = _kernel(weight, kernel_size)
    dx, dw, db = convolution_backward_overrideable(
        out, grad, x, kernel, stride, padding, [1], False, [0], 1, output_mask
    )
    dw = None if dw is None else hlo.reshape(dw, weight.shape)
    return dx, dw, db


@lowers(aten.slow_conv_dilated2d.default, aten.slow_conv_dilated3d.default)
def _dilated(out, x, weight, kernel_size, bias, stride, padding, dilation):
    return _run(out, x, weight, kernel_size, bias, stride, padding, dilation)


@lowers(aten.slow_conv_transpose2d.default, aten.slow_conv_transpose3d.default)
def _transposed(out, x, weight, kernel_size, bias, stride, padding, output_padding, dilation):
    return _run(out, x, weight, kernel_size, bias, stride, padding, dilation, True, output_padding)
