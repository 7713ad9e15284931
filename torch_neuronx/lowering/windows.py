"""im2col and col2im: sliding windows of images as columns, and their sum back.

One dimension at a time, with the same window positions as `unfold` and its gradient.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take, window_index
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.view_updates import fold

aten = torch.ops.aten


def window_count(size: int, kernel: int, dilation: int, padding: int, stride: int) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


@lowers(aten.im2col.default)
def _im2col(out, x, kernel_size, dilation, padding, stride):
    """(N, C, H, W) -> (N, C·kh·kw, oh·ow); the batch dimension may be absent."""
    low = [0] * (x.ndim - 2) + list(padding)
    x = hlo.pad(x, 0, low, low)
    for axis in (0, 1):
        dim = len(low) - 2 + 2 * axis
        kernel, step, spread = kernel_size[axis], stride[axis], dilation[axis]
        windows = window_count(x.shape[dim], kernel, spread, 0, step)
        x = take(x, dim, window_index(windows, step, kernel, spread))
    n = x.ndim - 4
    return hlo.reshape(hlo.transpose(x, [*range(n), n + 1, n + 3, n, n + 2]), out.shape)


@lowers(aten.col2im.default)
def _col2im(out, x, output_size, kernel_size, dilation, padding, stride):
    *batch, channels, height, width = out.shape
    counts = [
        window_count(*sizes)
        for sizes in zip(output_size, kernel_size, dilation, padding, stride, strict=True)
    ]
    n = len(batch) + 1
    x = hlo.reshape(x, (*batch, channels, *kernel_size, *counts))
    x = hlo.transpose(x, [*range(n), n + 2, n, n + 3, n + 1])
    x = fold(x, n + 2, width + 2 * padding[1], stride[1], dilation[1])
    x = fold(x, n, height + 2 * padding[0], stride[0], dilation[0])
    cut = [0] * n + [-p for p in padding]
    return hlo.pad(x, 0, cut, cut)
