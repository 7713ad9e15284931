"""Rules for running reductions: cumsum, cumprod, cummax, cummin, logcumsumexp.

All are one associative scan over blocks: within a block of BLOCK elements by doubling steps, then over
the blocks' last elements the same way, so the work is O(n log BLOCK) and the depth O(log n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.arithmetic import log_add_exp
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import is_nan, rule_for
from torch_neuronx.lowering.extremum import positions
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

BLOCK = 32

# combine(earlier, later) on tuples of Values; the scan never changes the order of its operands.
Combine = Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]]


def scan(xs: Sequence[Value], dim: int, combine: Combine, neutral: Sequence) -> list[Value]:
    """The inclusive scan of the tuple `xs` along `dim`; `neutral` are numbers combine leaves alone."""
    size = xs[0].shape[dim]
    if size <= BLOCK:
        return _doubling(xs, dim, combine, neutral)
    blocks = -(-size // BLOCK)
    split = [_split(x, dim, blocks, n) for x, n in zip(xs, neutral, strict=True)]
    inner = _doubling(split, dim + 1, combine, neutral)
    ends = [hlo.slice_dim(x, dim + 1, BLOCK - 1, BLOCK) for x in inner]
    before = [
        _delayed(x, dim, 1, n)
        for x, n in zip(scan(ends, dim, combine, neutral), neutral, strict=True)
    ]
    joined = combine([hlo.broadcast_to(b, x.shape) for b, x in zip(before, inner, strict=True)], inner)
    return [_joined(x, dim, size) for x in joined]


def _doubling(xs, dim, combine, neutral):
    """Hillis and Steele's scan: after the step of width w each element covers 2 w before it."""
    width = 1
    while width < xs[0].shape[dim]:
        earlier = [_delayed(x, dim, width, n) for x, n in zip(xs, neutral, strict=True)]
        xs, width = combine(earlier, xs), 2 * width
    return list(xs)


def _delayed(x: Value, dim: int, by: int, neutral) -> Value:
    """x moved `by` places towards the end of `dim`, `neutral` moving in."""
    low, high = [0] * x.ndim, [0] * x.ndim
    low[dim], high[dim] = by, -by
    return hlo.pad(x, neutral, low, high)


def _split(x, dim, blocks, neutral):
    high = [0] * x.ndim
    high[dim] = blocks * BLOCK - x.shape[dim]
    padded = hlo.pad(x, neutral, [0] * x.ndim, high) if high[dim] else x
    return hlo.reshape(padded, x.shape[:dim] + (blocks, BLOCK) + x.shape[dim + 1 :])


def _joined(x, dim, size):
    flat = hlo.reshape(x, x.shape[:dim] + (-1,) + x.shape[dim + 2 :])
    return hlo.slice_dim(flat, dim, 0, size)


def _running(fn: Callable[[Value, Value], Value], neutral):
    """The rule of a one-value scan, computed in the compute dtype; a 0-d value is its own scan."""

    def rule(out, x, dim, *, dtype=None):
        x = hlo.convert(x, compute_dtype(out.dtype))
        if x.ndim and x.numel:
            (x,) = scan([x], dim % x.ndim, lambda a, b: [fn(a[0], b[0])], [neutral])
        return hlo.convert(x, out.dtype)

    return rule


rule_for(aten.cumsum.default)(_running(hlo.add, 0))
rule_for(aten.cumprod.default)(_running(hlo.mul, 1))
rule_for(aten.logcumsumexp.default, aten._logcumsumexp.default)(_running(log_add_exp, -math.inf))


def _running_extreme(direction: str):
    """The rule of cummax or cummin: of equal elements the later one, and NaN from the first on."""

    def combine(earlier, later):
        (a, i), (b, j) = earlier, later
        wins = hlo.compare(b, a, direction)
        if b.dtype.is_floating_point:
            wins = is_nan(b) | (wins & ~is_nan(a))
        wins = wins | (i < 0)
        return hlo.select(wins, b, a), hlo.select(wins, j, i)

    def rule(out, x, dim):
        values, indices = out
        if not x.ndim or not x.numel:
            return x, hlo.full(indices.shape, 0, torch.int64)
        place = positions(x.shape, dim % x.ndim)
        best, found = scan([x, place], dim % x.ndim, combine, [0, -1])
        return best, hlo.convert(found, torch.int64)

    return rule


rule_for(aten.cummax.default)(_running_extreme("GE"))
rule_for(aten.cummin.default)(_running_extreme("LE"))
