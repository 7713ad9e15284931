"""Rules of histograms: histc in equal bins, histogram in equal or given ones."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, put_flat
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.elementwise import quotient
from torch_neuronx.lowering.ranges import linspace
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.searching import lower_or_upper_bound
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@lowers(aten.histc.default, runtime=("min", "max"))
def _histc(out, x, bins=100, min=0, max=0):
    """Counts in equal bins of [min, max]; equal bounds mean the data's own range, then one unit
    wider. Integers, which PyTorch's CPU kernel refuses and its CUDA kernel takes, are exact.
    """
    exact = not x.dtype.is_floating_point
    x = flatten(hlo.convert(x, torch.int64) if exact else x)
    low, high = hlo.number(min, x.dtype), hlo.number(max, x.dtype)
    if x.numel:
        given = low != high
        low = hlo.select(given, low, hlo.reduce(x, [0], "min"))
        high = hlo.select(given, high, hlo.reduce(x, [0], "max"))
    single = low == high
    low, high = hlo.select(single, low - 1, low), hlo.select(single, high + 1, high)
    if not exact:
        check(
            ~(hlo.is_finite(low) & hlo.is_finite(high)),
            "RuntimeError",
            "torch.histc: range is not finite",
        )
    check(low > high, "RuntimeError", "torch.histc: max must be larger than min")
    place = hlo.convert(quotient((x - low) * bins, high - low), torch.int64)
    inside = (x >= low) & (x <= high)
    place = hlo.select(inside, hlo.min(place, bins - 1), bins)
    return put_flat(
        hlo.full(out.shape, 0, out.dtype), place, hlo.full(x.shape, 1, out.dtype), "add"
    )


@lowers(aten.histogram.bins_tensor)
def _histogram(out, x, bins, *, weight=None, density=False):
    return counted(out[0], x, bins, weight, density), bins


@lowers(aten.histogram.bin_ct)
def _histogram_of_equal_bins(out, x, bins=100, *, range=None, weight=None, density=False):
    """`range` defaults to the data's own, to [0, 1] without data; a point becomes one unit."""
    low, high = (hlo.number(v, x.dtype) for v in range or (0.0, 1.0))
    if not range and x.numel:
        low, high = (hlo.reduce(x, None, kind) for kind in ("min", "max"))
    check(
        ~(hlo.is_finite(low) & hlo.is_finite(high)),
        "RuntimeError",
        "torch.histogramdd: dimension 0's range is not finite",
    )
    single = low == high
    low, high = hlo.select(single, low - 0.5, low), hlo.select(single, high + 0.5, high)
    edges = linspace(out[1], low, high, bins + 1)
    return counted(out[0], x, edges, weight, density), edges


def counted(out, x: Value, edges: Value, weight: Value | None, density: bool) -> Value:
    """The weight in each bin: right-open but for the last, which has both its edges."""
    bins, x = out.shape[0], flatten(x)
    weight = hlo.full(x.shape, 1, out.dtype) if weight is None else flatten(weight)
    last = hlo.broadcast_to(hlo.slice_dim(edges, 0, bins, bins + 1), x.shape)
    place = lower_or_upper_bound(edges, x, right=True) - 1
    place = hlo.select(x == last, bins - 1, place)
    outside = (place < 0) | ~(x <= last)
    place = hlo.select(outside, bins, place)
    counts = put_flat(hlo.full(out.shape, 0, out.dtype), place, weight, "add")
    if not density:
        return counts
    widths = hlo.slice_dim(edges, 0, 1, bins + 1) - hlo.slice_dim(edges, 0, 0, bins)
    return counts / hlo.broadcast_to(hlo.reduce(counts, [0], "add"), counts.shape) / widths
