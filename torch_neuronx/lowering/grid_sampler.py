"""Sampling images and volumes at given coordinates, with gradients of both.

Along each axis a coordinate reads a few taps: a position, its weight and the weight's slope. One
sample is the sum over all combinations of taps; a tap outside the image counts as zero. Modes,
padding and their gradients are those of aten/native/GridSampler.h. Shape suffixes: N batch, C
channels, Q samples, P pixels.
"""

from __future__ import annotations

import itertools
import math
from functools import reduce
from operator import add, mul

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import quotient
from torch_neuronx.lowering.planes import gather_planes, scatter_planes
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


@lowers(aten.grid_sampler_2d.default, aten.grid_sampler_3d.default)
def grid_sampler(out, x, grid, mode, padding, align):
    image_NCP, axes, sizes = _prepared(x, grid, mode, padding, align)
    terms_NCQ = []
    for taps in itertools.product(*(taps for taps, _ in axes)):
        index, inside, weight, _ = _combined(taps, sizes)
        terms_NCQ.append(hlo.select(inside, gather_planes(image_NCP, index), 0.0) * weight)
    return hlo.convert(hlo.reshape(reduce(add, terms_NCQ), out.shape), out.dtype)


@lowers(aten.grid_sampler_2d_backward.default, aten.grid_sampler_3d_backward.default)
def grid_sampler_backward(out, grad, x, grid, mode, padding, align, mask):
    image_NCP, axes, sizes = _prepared(x, grid, mode, padding, align)
    n, c, pixels = image_NCP.shape
    grad_NCQ = hlo.reshape(hlo.convert(grad, image_NCP.dtype), [n, c, math.prod(grad.shape[2:])])
    combined = [_combined(t, sizes) for t in itertools.product(*(taps for taps, _ in axes))]
    dx = _image_gradient(grad_NCQ, combined, pixels) if mask[0] else None
    dgrid = _grid_gradient(grad_NCQ, image_NCP, combined, axes)
    return (
        None if dx is None else hlo.convert(hlo.reshape(dx, x.shape), x.dtype),
        hlo.convert(hlo.reshape(dgrid, grid.shape), grid.dtype) if mask[1] else None,
    )


def _image_gradient(grad_NCQ, combined, pixels: int):
    n, c, _ = grad_NCQ.shape
    index = hlo.concat([hlo.select(inside, i, pixels) for i, inside, _, _ in combined], 2)
    updates = hlo.concat([grad_NCQ * weight for _, _, weight, _ in combined], 2)
    return scatter_planes(hlo.full((n, c, pixels), 0, grad_NCQ.dtype), index, updates, "add")


def _grid_gradient(grad_NCQ, image_NCP, combined, axes):
    """[N, Q, axes], the last axis of the image first."""
    by_axis = [0.0] * len(axes)
    for index, inside, _, slopes in combined:
        value = hlo.select(inside, gather_planes(image_NCP, index), 0.0)
        along = hlo.reduce(value * grad_NCQ, [1], "add", keepdim=True)
        by_axis = [total + along * slope for total, slope in zip(by_axis, slopes, strict=True)]
    parts = [total * factor for total, (_, factor) in zip(by_axis, axes, strict=True)]
    n, _, q = parts[0].shape
    return hlo.concat([hlo.reshape(p, [n, q, 1]) for p in reversed(parts)], 2)


def _prepared(x, grid, mode: int, padding: int, align: bool):
    """The image as [N, C, P]; per axis its taps and the coordinate's slope; the axes' sizes."""
    dtype = compute_dtype(x.dtype)
    sizes = x.shape[2:]
    n, q = grid.shape[0], math.prod(grid.shape[1:-1])
    points = hlo.reshape(hlo.convert(grid, dtype), [n, 1, q, len(sizes)])
    axes = []
    for axis, size in enumerate(sizes):
        column = len(sizes) - 1 - axis
        place = hlo.reshape(hlo.slice_dim(points, 3, column, column + 1), [n, 1, q])
        axes.append(_taps(place, size, mode, padding, align))
    image = hlo.reshape(hlo.convert(x, dtype), [*x.shape[:2], math.prod(sizes)])
    return image, axes, sizes


def _combined(taps, sizes):
    """Of one tap per axis: flat index, whether it is inside, weight, and the slope by each axis."""
    index, inside = None, None
    for (position, _, _), size in zip(taps, sizes, strict=True):
        here = (position >= 0.0) & (position <= float(size - 1))
        flat = hlo.convert(hlo.select(here, position, 0.0), torch.int32)
        index = flat if index is None else index * size + flat
        inside = here if inside is None else inside & here
    weights = [weight for _, weight, _ in taps]
    slopes = [
        reduce(mul, [slope if b == a else w for b, w in enumerate(weights)])
        for a, (_, _, slope) in enumerate(taps)
    ]
    return index, inside, reduce(mul, weights), slopes


def _taps(place, size: int, mode: int, padding: int, align: bool):
    """([(position, weight, slope of the weight)], slope of the coordinate) along one axis."""
    factor = (size - 1) / 2 if align else size / 2
    x = (place + 1.0) * factor if align else ((place + 1.0) * float(size) - 1.0) / 2.0
    if mode == _BICUBIC:
        low = hlo.floor(x)
        padded = [_padded(low + float(k), size, padding, align)[0] for k in (-1, 0, 1, 2)]
        return list(zip(padded, *_cubic(x - low), strict=True)), factor
    x, slope = _padded(x, size, padding, align)
    one = hlo.full(x.shape, 1, x.dtype)
    if mode == _NEAREST:
        return [(hlo.round_even(x), one, one * 0.0)], factor
    low = hlo.floor(x)
    part = x - low
    return [(low, 1.0 - part, -one), (low + 1.0, part, one)], slope * factor


def _cubic(t):
    """Weights and slopes of the four taps around a fraction t (Keys's kernel, a = -0.75)."""
    a = -0.75
    far, near = (t + 1.0, 2.0 - t), (t, 1.0 - t)
    outer = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in far]
    inner = [((a + 2) * d - (a + 3)) * d * d + 1.0 for d in near]
    outer_slope = [(3 * a * d - 10 * a) * d + 8 * a for d in far]
    inner_slope = [(3 * (a + 2) * d - 2 * (a + 3)) * d for d in near]
    weights = [outer[0], inner[0], inner[1], outer[1]]
    return weights, [outer_slope[0], inner_slope[0], -inner_slope[1], -outer_slope[1]]


def _padded(x, size: int, padding: int, align: bool):
    """The coordinate moved into the image as `padding` says, and its slope there."""
    slope = hlo.full(x.shape, 1, x.dtype)
    if padding == _ZEROS:
        return x, slope
    if padding == _REFLECTION:
        x, slope = _reflected(x, *((0, size - 1) if align else (-0.5, size - 0.5)))
    last = float(size - 1)
    slope = hlo.select((x <= 0.0) | (x >= last), 0.0, slope)
    x = hlo.select(x == x, x, 0.0)
    return hlo.clamp(0.0, x, last), slope


def _reflected(x, low: float, high: float):
    span = float(high - low)
    if span == 0:
        return x * 0.0, x * 0.0
    away = x - float(low)
    distance = hlo.abs(away)
    extra, turns = hlo.rem(distance, span), hlo.floor(quotient(distance, hlo.number(span, x.dtype)))
    even = hlo.rem(turns, 2.0) == 0.0
    x = hlo.select(even, extra + float(low), span - extra + float(low))
    one = hlo.full(x.shape, 1, x.dtype)
    slope = hlo.select(even, one, -one)
    return x, hlo.select(away < 0.0, -slope, slope)
