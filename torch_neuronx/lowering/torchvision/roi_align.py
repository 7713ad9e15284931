"""Regions of images, interpolated to a fixed size: torchvision's kernel, and a program where none
can be called.

A bin of a region is the mean of samples on a grid, each interpolated linearly along both axes. Mean
and interpolation are those of one axis after the other, so a region is read by two matrices of
weights, one for each axis; in the program a feature that is not finite therefore spreads along its
row and column. Shape suffixes: N images, C channels, H and W their sizes, K regions,
P bins along an axis, S the axis's size.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.kernels import prefers_kernel
from torch_neuronx.lowering.value import Value

_torchvision = torch.ops.torchvision


@prefers_kernel(_torchvision.roi_align.default)
def _roi_align(out, x, rois, scale, height, width, samples, aligned):
    """[K, C, height, width]"""
    if not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    x_NCHW = hlo.convert(x, compute_dtype(x.dtype))
    rows, columns = _weights(rois, x.shape[2:], scale, (height, width), samples, aligned)
    result = hlo.full(out.shape, 0, x_NCHW.dtype)
    for image in range(x.shape[0]):
        x_CHW = hlo.reshape(hlo.slice_dim(x_NCHW, 0, image, image + 1), x.shape[1:])
        partly_KPCW = hlo.dot_general(rows, x_CHW, contract=([2], [1]))
        read_KPCP = hlo.dot_general(partly_KPCW, columns, batch=([0], [0]), contract=([3], [2]))
        read = hlo.transpose(read_KPCP, [0, 2, 1, 3])
        result = hlo.select(_of_image(rois, image, read.shape), read, result)
    return hlo.convert(result, out.dtype)


@prefers_kernel(_torchvision._roi_align_backward.default)
def _roi_align_backward(
    out, grad, rois, scale, height, width, batch, channels, h, w, samples, aligned
):
    """[N, C, H, W]"""
    if not grad.numel or not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    grad_KCPP = hlo.convert(grad, compute_dtype(grad.dtype))
    rows, columns = _weights(rois, (h, w), scale, (height, width), samples, aligned)
    images = []
    for image in range(batch):
        mine = hlo.select(_of_image(rois, image, grad.shape), grad_KCPP, 0.0)
        spread_KCPW = hlo.dot_general(mine, columns, batch=([0], [0]), contract=([3], [1]))
        total_CWH = hlo.dot_general(spread_KCPW, rows, contract=([0, 2], [0, 1]))
        images.append(hlo.expand_dims(hlo.transpose(total_CWH, [0, 2, 1]), 0))
    return hlo.convert(hlo.concat(images, 0), out.dtype)


def _of_image(rois: Value, image: int, shape: tuple[int, ...]) -> Value:
    """bool[K, ...]: which regions are of this image."""
    index = hlo.reshape(hlo.slice_dim(rois, 1, 0, 1), (rois.shape[0], 1, 1, 1))
    return hlo.broadcast_to(hlo.convert(index, torch.int32) == image, shape)


def _weights(rois, sizes, scale: float, bins, samples: int, aligned: bool) -> list[Value]:
    """The two axes' weights, [K, P, S] each; the regions are (image, x1, y1, x2, y2)."""
    table = hlo.convert(rois, compute_dtype(rois.dtype))
    _, x1, y1, x2, y2 = (
        hlo.reshape(hlo.slice_dim(table, 1, i, i + 1), (rois.shape[0],)) for i in range(5)
    )
    return [
        _axis(
            low * scale - 0.5 * aligned, high * scale - 0.5 * aligned, size, count, samples, aligned
        )
        for low, high, size, count in ((y1, y2, sizes[0], bins[0]), (x1, x2, sizes[1], bins[1]))
    ]


def _axis(low, high, size: int, bins: int, samples: int, aligned: bool) -> Value:
    """[K, P, S]: the weight of each position in the mean of each bin's samples along one axis."""
    length = high - low if aligned else hlo.max(high - low, hlo.full(low.shape, 1, low.dtype))
    step = length / float(bins)
    # As many samples as a bin is long, where the caller gives no number.
    count = hlo.full(low.shape, samples, low.dtype) if samples > 0 else hlo.ceil(step)
    shape = (low.shape[0], bins, size)

    def wide(value):
        return hlo.broadcast_in_dim(value, shape, [0])

    def add(i, total, low, step, count):
        place = hlo.iota(shape, 1, low.dtype)
        at = wide(low) + place * wide(step) + (hlo.convert(i, low.dtype) + 0.5) * wide(step / count)
        inside = (
            (at >= -1.0)
            & (at <= float(size))
            & (wide(count) > hlo.broadcast_to(hlo.convert(i, low.dtype), shape))
        )
        at = hlo.clamp(0.0, at, float(size - 1))
        near = hlo.clamp(0.0, 1.0 - hlo.abs(hlo.iota(shape, 2, low.dtype) - at), 1.0)
        return [i + 1, total + hlo.select(inside, near, 0.0), low, step, count]

    most = hlo.convert(hlo.reduce(count, [0], "max"), torch.int32)
    state = [hlo.full((), 0, torch.int32), hlo.full(shape, 0, low.dtype), low, step, count, most]

    def body(i, *rest):
        return [*add(i, *rest[:-1]), rest[-1]]

    total = hlo.while_(state, lambda i, *rest: i < rest[-1], body)[1]
    return total / wide(hlo.max(count, hlo.full(count.shape, 1, count.dtype)))
