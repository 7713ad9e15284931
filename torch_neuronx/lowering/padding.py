"""Constant, reflection and replication padding of the last dimensions, and their gradients.

Both edge paddings are one description per dimension: which slices of the input stand where,
reversed or repeated. The gradient adds the same slices back.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value
from torch_neuronx.lowering.view_updates import pad_dim

aten = torch.ops.aten


def by_dim(padding, ndim: int) -> list[tuple[int, int, int]]:
    """(dim, low, high) of PyTorch's flat padding list, which starts at the last dimension."""
    return [(ndim - 1 - i, padding[2 * i], padding[2 * i + 1]) for i in range(len(padding) // 2)]


@lowers(aten.constant_pad_nd.default, runtime=("value",))
def _constant_pad(out, x, pad, value=0):
    low, high = [0] * x.ndim, [0] * x.ndim
    for dim, before, after in by_dim(pad, x.ndim):
        low[dim], high[dim] = before, after
    return hlo.pad(x, hlo.number(value, x.dtype), low, high)


def reflect(x: Value, dim: int, low: int, high: int) -> list[Value]:
    """The mirrored edges (the edge element itself not repeated) around the kept middle."""
    size = x.shape[dim]
    before = hlo.reverse(hlo.slice_dim(x, dim, 1, 1 + max(low, 0)), [dim])
    after = hlo.reverse(hlo.slice_dim(x, dim, size - 1 - max(high, 0), size - 1), [dim])
    return [before, _middle(x, dim, low, high), after]


def replicate(x: Value, dim: int, low: int, high: int) -> list[Value]:
    size = x.shape[dim]
    first, last = hlo.slice_dim(x, dim, 0, 1), hlo.slice_dim(x, dim, size - 1, size)
    return [_repeated(first, dim, low), _middle(x, dim, low, high), _repeated(last, dim, high)]


def _middle(x: Value, dim: int, low: int, high: int) -> Value:
    return hlo.slice_dim(x, dim, max(-low, 0), x.shape[dim] - max(-high, 0))


def _repeated(edge: Value, dim: int, count: int) -> Value:
    shape = list(edge.shape)
    shape[dim] = max(count, 0)
    return hlo.broadcast_to(edge, tuple(shape))


def reflect_backward(parts: list[Value], dim: int, size: int, low: int, high: int) -> list[Value]:
    before, middle, after = parts
    n, m = before.shape[dim], after.shape[dim]
    return [
        pad_dim(hlo.reverse(before, [dim]), dim, 1, size - 1 - n),
        pad_dim(middle, dim, max(-low, 0), max(-high, 0)),
        pad_dim(hlo.reverse(after, [dim]), dim, size - 1 - m, 1),
    ]


def replicate_backward(parts: list[Value], dim: int, size: int, low: int, high: int) -> list[Value]:
    before, middle, after = parts
    return [
        pad_dim(hlo.reduce(before, [dim], "add", keepdim=True), dim, 0, size - 1),
        pad_dim(middle, dim, max(-low, 0), max(-high, 0)),
        pad_dim(hlo.reduce(after, [dim], "add", keepdim=True), dim, size - 1, 0),
    ]


def pad_edges(x: Value, padding, edges: Callable) -> Value:
    for dim, low, high in by_dim(padding, x.ndim):
        if low or high:
            x = hlo.concat([p for p in edges(x, dim, low, high) if p.shape[dim]], dim)
    return x


def pad_edges_backward(grad: Value, shape, padding, backward: Callable) -> Value:
    """Accumulates wide, rounds once."""
    total = hlo.convert(grad, compute_dtype(grad.dtype))
    for dim, low, high in by_dim(padding, total.ndim):
        if low or high:
            parts = _cut(total, dim, max(low, 0), max(high, 0))
            before, middle, after = backward(parts, dim, shape[dim], low, high)
            total = before + middle + after
    return hlo.convert(total, grad.dtype)


def _cut(x: Value, dim: int, low: int, high: int) -> list[Value]:
    size = x.shape[dim]
    ends = [(0, low), (low, size - high), (size - high, size)]
    return [hlo.slice_dim(x, dim, start, end) for start, end in ends]


@lowers(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)
def _reflection_pad(out, x, padding):
    return pad_edges(x, padding, reflect)


@lowers(
    aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default
)
def _replication_pad(out, x, padding):
    return pad_edges(x, padding, replicate)


@lowers(
    aten.reflection_pad1d_backward.default,
    aten.reflection_pad2d_backward.default,
    aten.reflection_pad3d_backward.default,
)
def _reflection_pad_backward(out, grad, x, padding):
    return pad_edges_backward(grad, x.shape, padding, reflect_backward)


@lowers(
    aten.replication_pad1d_backward.default,
    aten.replication_pad2d_backward.default,
    aten.replication_pad3d_backward.default,
)
def _replication_pad_backward(out, grad, x, padding):
    return pad_edges_backward(grad, x.shape, padding, replicate_backward)
