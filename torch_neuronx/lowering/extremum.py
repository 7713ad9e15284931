"""Rules that pick an element: amax, max, argmax, aminmax, median.

NaN is above and below everything, as in ATen's native/cpu/TensorCompareKernel.cpp and
ReduceOpsKernel.cpp; of equal elements the first one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import is_nan, rule_for, where
from torch_neuronx.lowering.ordering import sort_order, take_along
from torch_neuronx.lowering.reduction import over
from torch_neuronx.lowering.value import Value
from torch_neuronx.lowering.views import move_dim

aten = torch.ops.aten


def index_dtype(size: int) -> torch.dtype:
    """The narrowest integer that StableHLO counts `size` elements in without loss."""
    return torch.int32 if size < 2**31 else torch.int64


def positions(shape: Sequence[int], dim: int) -> Value:
    """Each element's index along `dim`."""
    return hlo.iota(tuple(shape), dim, index_dtype(shape[dim]))


def extreme(x: Value, dim: int, kind: str) -> tuple[Value, Value]:
    """The "max" or "min" along `dim` (kept as size 1) and the first index that has it, int64."""
    best = hlo.reduce(x, [dim], kind, keepdim=True)
    hit = x == best
    if x.dtype.is_floating_point:
        hit = hit | (is_nan(x) & is_nan(best))
    where_hit = hlo.select(hit, positions(x.shape, dim), x.shape[dim])
    first = hlo.reduce(where_hit, [dim], "min", keepdim=True)
    return best, hlo.convert(first, torch.int64)


def _folded(kind):
    def rule(out, x, dim=(), keepdim=False):
        return hlo.reduce(x, over(x, dim), kind, keepdim)

    return rule


rule_for(aten.amax.default, aten.max.default)(_folded("max"))
rule_for(aten.amin.default, aten.min.default)(_folded("min"))


def _with_index(kind):
    def rule(out, x, dim, keepdim=False):
        values, indices = out
        line = x if x.ndim else hlo.reshape(x, (1,))
        best, first = extreme(line, hlo.wrap_dim(dim, line.ndim), kind)
        return hlo.reshape(best, values.shape), hlo.reshape(first, indices.shape)

    return rule


rule_for(aten.max.dim)(_with_index("max"))
rule_for(aten.min.dim)(_with_index("min"))


def _index(kind):
    def rule(out, x, dim=None, keepdim=False):
        line = x if x.ndim and dim is not None else hlo.reshape(x, (x.numel,))
        _, first = extreme(line, hlo.wrap_dim(dim or 0, line.ndim), kind)
        return hlo.reshape(first, out.shape)

    return rule


rule_for(aten.argmax.default)(_index("max"))
rule_for(aten.argmin.default)(_index("min"))


@rule_for(aten.aminmax.default, aten._aminmax.default, aten._aminmax.dim)
def aminmax(out, x, dim=None, keepdim=False):
    dims = over(x, dim)
    return tuple(hlo.reduce(x, dims, kind, keepdim) for kind in ("min", "max"))


# ---- median ------------------------------------------------------------------------------------


def middle(x: Value, dim: int, ignore_nan: bool) -> tuple[Value, Value]:
    """The lower median along `dim` (kept as size 1) and the first index that has it.

    A NaN wins unless ignored; of nothing but NaN the median is NaN.
    """
    last = x.ndim - 1
    x = move_dim(x, dim, last)
    size = x.shape[last]
    nans = hlo.reduce(hlo.convert(is_nan(x), torch.int64), [last], "add", keepdim=True)
    live = size - nans
    if ignore_nan:
        rank = hlo.max((live - 1) / 2, 0)
    else:
        rank = where(nans > 0, live, (size - 1) // 2 + 0 * nans)
    index = take_along(sort_order(x, descending=False), rank)
    return move_dim(take_along(x, index), last, dim), move_dim(index, last, dim)


def _median(ignore_nan):
    def whole(out, x):
        if not x.numel:
            return hlo.full((), float("nan"), out.dtype)
        return hlo.reshape(middle(hlo.reshape(x, (x.numel,)), 0, ignore_nan)[0], ())

    def along(out, x, dim, keepdim=False):
        if not x.numel:
            return tuple(hlo.full(meta.shape, 0, meta.dtype) for meta in out)
        line = x if x.ndim else hlo.reshape(x, (1,))
        found = middle(line, hlo.wrap_dim(dim, line.ndim), ignore_nan)
        return tuple(hlo.reshape(v, meta.shape) for v, meta in zip(found, out, strict=True))

    return whole, along


for _packet, _ignore in ((aten.median, False), (aten.nanmedian, True)):
    _whole, _along = _median(_ignore)
    rule_for(_packet.default)(_whole)
    rule_for(_packet.dim)(_along)
