"""Max pooling with indices: plain, adaptive and fractional, its gradients, and unpooling.

Which element a window takes is PyTorch CPU's: the first largest one, but the last NaN if there is
any. That choice is a total order on (value, flat position), so it may be made axis by axis.
One-dimensional pooling is PyTorch's own composite over these.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import checked
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.planes import gather_planes, scatter_planes
from torch_neuronx.lowering.pooling import adaptive_bounds, per_axis
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.taps import Taps, along, read_taps

aten = torch.ops.aten

_LAST = 2**31 - 1


def _max_pool(rank: int):
    def rule(out, x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
        values, indices = out
        kernel, padding, dilation = (per_axis(v, rank) for v in (kernel, padding, dilation))
        stride = per_axis(stride or kernel, rank)
        edges = [
            (p, (o - 1) * s + d * (k - 1) + 1 - n - p)
            for n, o, k, s, p, d in zip(
                x.shape[-rank:],
                values.shape[-rank:],
                kernel,
                stride,
                padding,
                dilation,
                strict=True,
            )
        ]
        lead = x.ndim - rank
        window = {
            "window": [1] * lead + kernel,
            "strides": [1] * lead + stride,
            "padding": [(0, 0)] * lead + edges,
            "window_dilation": [1] * lead + dilation,
        }
        if indices is None:
            return hlo.reduce_window(x, "max", **window), None
        pair = [x, _positions(x.shape, rank)]
        value, index = hlo.variadic_reduce_window(pair, _start(x.dtype), _larger, **window)
        return value, hlo.convert(index, torch.int64)

    return rule


def _max_pool_backward(rank: int):
    def rule(out, grad, x, *args):
        return _scattered(out, grad, args[-1], rank)

    return rule


def _adaptive_max_pool(rank: int):
    def rule(out, x, output_size):
        values, _ = out
        taps = [
            Taps.windows(*adaptive_bounds(n, o), n)
            for n, o in zip(x.shape[-rank:], values.shape[-rank:], strict=True)
        ]
        value, index = x, _positions(x.shape, rank)
        for axis, tap in enumerate(taps, start=x.ndim - rank):
            value, index = _reduced(value, index, axis, tap)
        return value, hlo.convert(index, torch.int64)

    return rule


def _adaptive_max_pool_backward(rank: int):
    return lambda out, grad, x, indices: _scattered(out, grad, indices, rank)


lowers(aten.max_pool2d_with_indices.default)(_max_pool(2))
lowers(aten.max_pool3d_with_indices.default)(_max_pool(3))
lowers(aten.max_pool2d_with_indices_backward.default)(_max_pool_backward(2))
lowers(aten.max_pool3d_with_indices_backward.default)(_max_pool_backward(3))
lowers(aten.adaptive_max_pool2d.default)(_adaptive_max_pool(2))
lowers(aten.adaptive_max_pool3d.default)(_adaptive_max_pool(3))
lowers(aten.adaptive_max_pool2d_backward.default)(_adaptive_max_pool_backward(2))
lowers(aten.adaptive_max_pool3d_backward.default)(_adaptive_max_pool_backward(3))


def _fractional_max_pool(rank: int):
    def rule(out, x, kernel, output_size, samples):
        lead = x.shape[:-rank]
        order = (1, 0) if rank == 2 else (0, 1, 2)
        samples = hlo.reshape(samples, [math.prod(lead), rank])
        planes = hlo.reshape(x, [math.prod(lead), math.prod(x.shape[-rank:])])
        positions = None
        for axis in range(rank):
            sample = hlo.slice_dim(samples, 1, order[axis], order[axis] + 1)
            size, count = x.shape[axis - rank], output_size[axis]
            along = _fractional_positions(sample, size, count, kernel[axis])
            positions = along if positions is None else _crossed(positions, along, size)
        return _largest_at(out, planes, positions, rank)

    return rule


def _fractional_positions(sample, size: int, count: int, kernel: int):
    """int32 [planes, count, kernel]: the positions along one axis that each window reads."""
    planes = sample.shape[0]
    i = hlo.convert(hlo.iota((planes, count), 1, torch.int32), sample.dtype)
    alpha = (size - kernel) / (count - 1) if count > 1 else 0.0
    start = hlo.convert((i + sample) * alpha, torch.int32) - hlo.convert(
        sample * alpha, torch.int32
    )
    start = hlo.select(i == count - 1, size - kernel, start)
    shape = (planes, count, kernel)
    return hlo.broadcast_in_dim(start, shape, [0, 1]) + hlo.iota(shape, 2, torch.int32)


def _crossed(outer, inner, size: int):
    """Flat positions [planes, A*B, k*l] of the windows of two axes, the inner `size` long."""
    p, a, k = outer.shape
    _, b, m = inner.shape
    shape = (p, a, b, k, m)
    spread = hlo.broadcast_in_dim(outer * size, shape, [0, 1, 3])
    flat = spread + hlo.broadcast_in_dim(inner, shape, [0, 2, 4])
    return hlo.reshape(flat, [p, a * b, k * m])


def _largest_at(out, planes, positions, rank: int):
    p, windows, taps = positions.shape
    read = gather_planes(planes, hlo.reshape(positions, [p, windows * taps]))
    pair = [hlo.reshape(read, [p, windows, taps]), positions]
    value, index = hlo.variadic_reduce(pair, _start(planes.dtype), [2], _larger)
    index = hlo.convert(index, torch.int64)
    return hlo.reshape(value, out[0].shape), hlo.reshape(index, out[1].shape)


lowers(aten.fractional_max_pool2d.default)(_fractional_max_pool(2))
lowers(aten.fractional_max_pool3d.default)(_fractional_max_pool(3))
lowers(aten.fractional_max_pool2d_backward.default)(_max_pool_backward(2))
lowers(aten.fractional_max_pool3d_backward.default)(_max_pool_backward(3))


@lowers(aten.max_unpool2d.default)
def max_unpool2d(out, x, indices, output_size):
    return _unpooled(out, x, indices, 2)


@lowers(aten.max_unpool3d.default)
def max_unpool3d(out, x, indices, output_size, stride, padding):
    return _unpooled(out, x, indices, 3)


def _unpooled(out, x, indices, rank: int):
    lead, plane = math.prod(out.shape[:-rank]), math.prod(out.shape[-rank:])
    size = "x".join(str(n) for n in out.shape[-rank:])
    message = f"Found an invalid max index: {{}} (output volumes are of size {size})"
    index, x = (hlo.reshape(v, [lead, math.prod(x.shape[-rank:])]) for v in (indices, x))
    index = checked(index, plane, "RuntimeError", message, negative=False)
    empty = hlo.full((lead, plane), 0, out.dtype)
    return hlo.reshape(scatter_planes(empty, index, x, "set"), out.shape)


def _scattered(out, grad, indices, rank: int):
    """The gradient of a pool: every output's gradient added where its maximum was."""
    lead, plane = math.prod(out.shape[:-rank]), math.prod(out.shape[-rank:])
    dtype = compute_dtype(out.dtype)
    size = math.prod(grad.shape[-rank:])
    index = hlo.convert(hlo.reshape(indices, [lead, size]), torch.int32)
    updates = hlo.convert(hlo.reshape(grad, [lead, size]), dtype)
    dx = scatter_planes(hlo.full((lead, plane), 0, dtype), index, updates, "add")
    return hlo.convert(hlo.reshape(dx, out.shape), out.dtype)


def _positions(shape, rank: int):
    """int32 of `shape`: each element's flat position in its plane of the last `rank` axes."""
    flat = hlo.iota((math.prod(shape[-rank:]),), 0, torch.int32)
    dims = list(range(len(shape) - rank, len(shape)))
    return hlo.broadcast_in_dim(hlo.reshape(flat, list(shape[-rank:])), shape, dims)


def _start(dtype: torch.dtype):
    lowest = -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min
    return hlo.number(lowest, dtype), hlo.number(_LAST, torch.int32)


def _larger(value, index, other, position):
    """The winner of two (value, flat position) candidates."""
    better = (other > value) | (hlo.compare(other, value, "EQ") & (position < index))
    if value.dtype.is_floating_point:
        held = hlo.compare(value, value, "NE")
        better = better | (hlo.compare(other, other, "NE") & (~held | (position > index)))
    return hlo.select(better, other, value), hlo.select(better, position, index)


def _reduced(value, index, axis: int, taps: Taps):
    """(value, flat position) with `axis` reduced to its windows."""
    pair = [read_taps(value, axis, taps), read_taps(index, axis, taps)]
    start = _start(value.dtype)
    if not taps.valid.all():
        valid = along(taps.valid, axis, pair[0], torch.bool)
        pair = [hlo.select(valid, p, s) for p, s in zip(pair, start, strict=True)]
    return hlo.variadic_reduce(pair, start, [axis + 1], _larger)
