"""Convolutions of one to three dimensions, transposed or not, and their gradients.

Three facts carry the file. A transposed convolution is a convolution of the input with holes in it
(`lhs_dilation`) by the mirrored kernel. The gradient of a convolution's input is a transposed
convolution and the other way round. The gradient of its weight is a convolution of the input by
the output's gradient with batch and channels exchanged. Unbatched and complex inputs are PyTorch's
own composites.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.reduction import total
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten


@lowers(aten.convolution.default, aten.convolution_overrideable.default)
def convolution(
    out, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    rank = x.ndim - 2
    window = tuple(_per_axis(v, rank) for v in (stride, padding, dilation))
    if transposed:
        extra = _per_axis(output_padding, rank)
        y = _transposed(out.shape, x, weight, window, extra, groups)
    else:
        y = _direct(out.shape, x, weight, window, groups)
    if bias is not None:
        y = y + hlo.broadcast_in_dim(hlo.convert(bias, y.dtype), y.shape, [1])
    return hlo.convert(y, out.dtype)


@lowers(aten._convolution.default)
def convolution_with_flags(out, *args):
    return convolution(out, *args[:9])


@lowers(aten.convolution_backward.default)
def convolution_backward(out, grad, x, weight, bias_sizes, *args):
    return convolution_backward_overrideable(out, grad, x, weight, *args)


@lowers(aten.convolution_backward_overrideable.default)
def convolution_backward_overrideable(
    out, grad, x, weight, stride, padding, dilation, transposed, output_padding, groups, mask
):
    rank = x.ndim - 2
    window = tuple(_per_axis(v, rank) for v in (stride, padding, dilation))
    dx = dw = db = None
    if mask[0]:
        dx = hlo.convert(_input_gradient(grad, x, weight, window, transposed, groups), x.dtype)
    if mask[1]:
        image, kernel = (grad, x) if transposed else (x, grad)
        dw = hlo.convert(
            _weight_gradient(image, kernel, weight.shape, window, groups), weight.dtype
        )
    if mask[2]:
        dims = [d for d in range(grad.ndim) if d != 1]
        db = total(hlo.convert(grad, compute_dtype(grad.dtype)), dims)
        db = hlo.convert(db, grad.dtype)
    return dx, dw, db


def _per_axis(values, rank: int) -> list[int]:
    values = list(values)
    return values * rank if len(values) == 1 else values


def _direct(shape, x, weight, window, groups):
    """x[N, C, ...] by weight[O, C/groups, ...]; `window` is (stride, padding, dilation)."""
    stride, padding, dilation = window
    return _convolve(
        shape, x, weight, stride, list(zip(padding, padding, strict=True)), dilation, groups
    )


def _transposed(shape, x, weight, window, extra, groups):
    """x[N, C, ...] spread by `stride`, by weight[C, O/groups, ...]; `extra` on the far side."""
    stride, padding, dilation = window
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    edges = [(r - p, r - p + e) for r, p, e in zip(reach, padding, extra, strict=True)]
    ones = [1] * len(stride)
    kernel = _mirrored(weight, groups)
    # XLA's ConvOperandSwapper takes two taps over an axis spread by two, without edges, for groups,
    # and aborts: such an axis gets an edge, and the first result along it is left out.
    spare = [
        int((k, s, d, e) == (2, 2, 1, (0, 0)))
        for k, s, d, e in zip(weight.shape[2:], stride, dilation, edges, strict=True)
    ]
    edges = [(low + n, high) for n, (low, high) in zip(spare, edges, strict=True)]
    wider = [*shape[:2], *(size + n for n, size in zip(spare, shape[2:], strict=True))]
    y = _convolve(wider, x, kernel, ones, edges, dilation, groups, spread=stride)
    return hlo.slice(y, [0, 0, *spare], wider)


def _mirrored(weight, groups: int):
    """weight[C, O/groups, ...] as weight[O, C/groups, ...] with every spatial axis reversed."""
    c, o, *kernel = weight.shape
    spatial = list(range(2, weight.ndim))
    split = hlo.reshape(hlo.reverse(weight, spatial), [groups, c // groups, o, *kernel])
    swapped = hlo.transpose(split, [0, 2, 1, *range(3, split.ndim)])
    return hlo.reshape(swapped, [groups * o, c // groups, *kernel])


def _input_gradient(grad, x, weight, window, transposed, groups):
    stride, padding, dilation = window
    if transposed:
        # What output_padding added is left out: it can be a whole step, or more.
        edges = [
            (p, (n - 1) * s + d * (k - 1) + 1 - g - p)
            for n, s, p, d, k, g in zip(
                x.shape[2:],
                stride,
                padding,
                dilation,
                weight.shape[2:],
                grad.shape[2:],
                strict=True,
            )
        ]
        return _convolve(x.shape, grad, weight, stride, edges, dilation, groups)
    reached = [
        (g - 1) * s - 2 * p + d * (k - 1) + 1
        for g, s, p, d, k in zip(
            grad.shape[2:], stride, padding, dilation, weight.shape[2:], strict=True
        )
    ]
    extra = [n - r for n, r in zip(x.shape[2:], reached, strict=True)]
    return _transposed(x.shape, grad, weight, window, extra, groups)


def _weight_gradient(image, kernel, shape, window, groups):
    """image[N, C, ...] by kernel[N, O, ...] -> [O, C/groups, ...], the batch being summed over."""
    stride, padding, dilation = window
    o, c, *taps = shape
    n, _, *size = image.shape
    split = hlo.reshape(image, [n, groups, c, *size])
    swapped = hlo.transpose(split, [2, 1, 0, *range(3, split.ndim)])
    lhs = hlo.reshape(swapped, [c, groups * n, *size])
    rhs = hlo.transpose(kernel, [1, 0, *range(2, kernel.ndim)])
    edges = [
        (p, d * (t - 1) + (g - 1) * s + 1 - i - p)
        for p, d, t, g, s, i in zip(
            padding, dilation, taps, kernel.shape[2:], stride, size, strict=True
        )
    ]
    y = _convolve([c, o, *taps], lhs, rhs, dilation, edges, stride, groups)
    return hlo.transpose(y, [1, 0, *range(2, y.ndim)])


def _convolve(shape, x, weight, stride, edges, dilation, groups, spread=None):
    """x[N, C, ...] by weight[O, C/groups, ...] -> `shape`, in the compute dtype."""
    dtype = compute_dtype(x.dtype)
    if 0 in (math.prod(shape), x.numel, weight.numel):
        return hlo.full(shape, 0, dtype)
    return hlo.convolution(
        x,
        weight,
        strides=stride,
        padding=edges,
        lhs_dilation=spread or [1] * len(stride),
        rhs_dilation=dilation,
        groups=groups,
        out_dtype=dtype,
    )
