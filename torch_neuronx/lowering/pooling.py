"""Average pooling in two and three dimensions, adaptive or not, and its gradients.

One-dimensional and Lp pooling are PyTorch's own composites over these; maxima are in
`max_pooling`. Sums accumulate in float32 for bfloat16 and float16.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.taps import Taps, resample

aten = torch.ops.aten


def per_axis(values, rank: int) -> list[int]:
    """A pooling argument for every spatial axis: a single number serves all of them."""
    values = list(values)
    return values * rank if len(values) == 1 else values


def _avg_pool(rank: int):
    def rule(
        out,
        x,
        kernel,
        stride=(),
        padding=(0,),
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        kernel, stride, padding = _window(rank, kernel, stride, padding)
        total = hlo.reduce_window(
            hlo.convert(x, compute_dtype(x.dtype)),
            "add",
            _spatial(x, kernel, 1),
            _spatial(x, stride, 1),
            _spatial(x, _edges(x.shape, out.shape, kernel, stride, padding), (0, 0)),
        )
        divisor = _divisor(x.shape, out.shape, kernel, stride, padding, count_include_pad)
        return hlo.convert(_divided(total, divisor_override, divisor), out.dtype)

    return rule


def _avg_pool_backward(rank: int):
    def rule(out, grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        kernel, stride, padding = _window(rank, kernel, stride, padding)
        divisor = _divisor(x.shape, grad.shape, kernel, stride, padding, count_include_pad)
        share = _divided(hlo.convert(grad, compute_dtype(grad.dtype)), divisor_override, divisor)
        edges = [
            (k - 1 - p, n + p - (o - 1) * s - 1)
            for k, p, n, o, s in zip(
                kernel, padding, x.shape[-rank:], grad.shape[-rank:], stride, strict=True
            )
        ]
        dx = hlo.reduce_window(
            share,
            "add",
            _spatial(x, kernel, 1),
            padding=_spatial(x, edges, (0, 0)),
            base_dilation=_spatial(x, stride, 1),
        )
        return hlo.convert(dx, out.dtype)

    return rule


def _adaptive_avg_pool(rank: int):
    def rule(out, x, output_size):
        y = hlo.convert(x, compute_dtype(x.dtype))
        for axis in range(x.ndim - rank, x.ndim):
            y = resample(y, axis, _averages(x.shape[axis], out.shape[axis]))
        return hlo.convert(y, out.dtype)

    return rule


def _adaptive_avg_pool_backward(rank: int):
    def rule(out, grad, x):
        dx = hlo.convert(grad, compute_dtype(grad.dtype))
        for axis in range(x.ndim - rank, x.ndim):
            dx = resample(dx, axis, _averages(x.shape[axis], grad.shape[axis]).transposed())
        return hlo.convert(dx, out.dtype)

    return rule


lowers(aten.avg_pool2d.default)(_avg_pool(2))
lowers(aten.avg_pool3d.default)(_avg_pool(3))
lowers(aten.avg_pool2d_backward.default)(_avg_pool_backward(2))
lowers(aten.avg_pool3d_backward.default)(_avg_pool_backward(3))
lowers(aten._adaptive_avg_pool2d.default)(_adaptive_avg_pool(2))
lowers(aten._adaptive_avg_pool3d.default)(_adaptive_avg_pool(3))
lowers(aten._adaptive_avg_pool2d_backward.default)(_adaptive_avg_pool_backward(2))
lowers(aten._adaptive_avg_pool3d_backward.default)(_adaptive_avg_pool_backward(3))


def adaptive_bounds(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the past-the-end input position of each of `count` adaptive windows."""
    i = np.arange(count)
    return i * size // count, -(-(i + 1) * size // count)


def _averages(size: int, count: int) -> Taps:
    starts, ends = adaptive_bounds(size, count)
    taps = Taps.windows(starts, ends, size)
    return Taps(taps.index, taps.weight / (ends - starts)[:, None], taps.valid, size)


def _window(rank: int, kernel, stride, padding):
    kernel = per_axis(kernel, rank)
    return kernel, per_axis(stride or kernel, rank), per_axis(padding, rank)


def _spatial(x, values, fill) -> list:
    """`values` for the trailing axes of x, `fill` for the others."""
    return [fill] * (x.ndim - len(values)) + list(values)


def _edges(x_shape, out_shape, kernel, stride, padding) -> list[tuple[int, int]]:
    """Low and high padding with which the windows give exactly `out_shape` (ceil_mode included)."""
    rank = len(kernel)
    return [
        (p, (o - 1) * s + k - n - p)
        for n, o, k, s, p in zip(
            x_shape[-rank:], out_shape[-rank:], kernel, stride, padding, strict=True
        )
    ]


def _divisor(x_shape, out_shape, kernel, stride, padding, count_include_pad: bool) -> np.ndarray:
    """How many elements each window counts: padding on request, what ceil_mode adds never."""
    rank = len(kernel)
    counts = []
    for n, o, k, s, p in zip(
        x_shape[-rank:], out_shape[-rank:], kernel, stride, padding, strict=True
    ):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        counts.append(end - start)
    return reduce(np.multiply.outer, counts)


def _divided(total, divisor_override: int | None, divisor: np.ndarray):
    if divisor_override is not None:
        return total / divisor_override
    if divisor.size == 0 or divisor.min() == divisor.max():
        return total / int(divisor.flat[0] if divisor.size else 1)
    return total / hlo.convert(hlo.constant(divisor), total.dtype)
