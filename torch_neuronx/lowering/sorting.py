"""sort, topk, kthvalue and mode: all read positions out of one order of the elements.

NaN sorts last (first when descending), equal elements keep their order: PyTorch's stable sort,
which serves the unstable one too.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import linear, put_flat
from torch_neuronx.lowering.hlo import wrap_dim
from torch_neuronx.lowering.indexing import vector
from torch_neuronx.lowering.ordering import largest, sort_key, sort_order, take_along
from torch_neuronx.lowering.prefix import prefix_sum
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value
from torch_neuronx.lowering.view_updates import pad_dim
from torch_neuronx.lowering.views import move_dim

aten = torch.ops.aten

# Above this share of the dimension a full sort is quicker than XLA's top-k (measured on XLA:CPU).
_TOP_K_SHARE = 8


def selected(out, x: Value, dim: int, choose: Callable[[Value], Value]) -> list[Value]:
    """(values, int64 indices) at the positions that `choose` returns for `x` with `dim` moved
    last.
    """
    dim = wrap_dim(dim, x.ndim)
    x = move_dim(vector(x), dim, max(x.ndim, 1) - 1)
    index = choose(x)
    results = [take_along(x, index) if x.numel else x, index]
    return [
        hlo.reshape(move_dim(r, r.ndim - 1, dim), m.shape)
        for r, m in zip(results, out, strict=True)
    ]


def order(x: Value, descending: bool = False) -> Value:
    if x.shape[-1] <= 1:
        return hlo.full(x.shape, 0, torch.int64)
    return sort_order(x, descending)


@lowers(aten.sort.default)
def _sort(out, x, dim=-1, descending=False):
    return selected(out, x, dim, lambda x: order(x, descending))


@lowers(aten.sort.stable)
def _sort_stable(out, x, *, stable, dim=-1, descending=False):
    return selected(out, x, dim, lambda x: order(x, descending))


@lowers(aten.topk.default)
def _topk(out, x, k, dim=-1, largest=True, sorted=True):
    return selected(out, x, dim, lambda x: top(x, k, largest))


def top(x: Value, k: int, greatest: bool) -> Value:
    """Positions of the first `k` of the last dimension."""
    size = x.shape[-1]
    key = sort_key(x)
    if key.dtype == torch.int32 and 0 < k * _TOP_K_SHARE <= size:
        return largest(key if greatest else hlo.not_(key), k)
    return hlo.slice_dim(order(x, greatest), -1, 0, k)


@lowers(aten.kthvalue.default)
def _kthvalue(out, x, k, dim=-1, keepdim=False):
    return selected(out, x, dim, lambda x: hlo.slice_dim(top(x, k, False), -1, k - 1, k))


@lowers(aten.mode.default)
def _mode(out, x, dim=-1, keepdim=False):
    return selected(out, x, dim, most_frequent)


def most_frequent(x: Value) -> Value:
    """Position, [..., 1], of the last element of the first longest run of equal elements in sorted
    order.
    """
    last, size = x.ndim - 1, x.shape[-1]
    in_order = order(x)
    x = take_along(x, in_order)
    changes = hlo.slice_dim(x, last, 0, size - 1) != hlo.slice_dim(x, last, 1, size)
    run = prefix_sum(hlo.convert(changes, torch.int32), last, small=True)
    run = pad_dim(run, last, 1, 0)
    lengths = put_flat(
        hlo.full((x.numel,), 0, torch.int32),
        linear(run, x.shape, last),
        hlo.full(x.shape, 1, torch.int32),
        "add",
    )
    lengths = hlo.reshape(lengths, x.shape)
    place = hlo.iota(x.shape, last, torch.int32)
    longest = hlo.reduce(lengths, [last], "max", keepdim=True)
    first = hlo.reduce(hlo.select(lengths == longest, place, size), [last], "min", keepdim=True)
    end = hlo.reduce(hlo.select(run == first, place, 0), [last], "max", keepdim=True)
    return take_along(in_order, end)
