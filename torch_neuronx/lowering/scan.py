"""Rules for running reductions: cumsum, cumprod, cummax, cummin, logcumsumexp.

All are one associative scan. A short dimension doubles its reach step by step. A long one is cut
into about sqrt(n) blocks, which a loop scans side by side; the blocks' ends are scanned in turn
and carried in. The work is O(n), the number of steps O(sqrt(n)).
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

# Up to SHORT elements: by doubling. Up to LONG, or where WIDE others go with each: one loop, no
# blocks.
SHORT, LONG, WIDE = 16, 64, 1024

# combine(earlier, later) on tuples of Values; the scan never changes the order of its operands.
Combine = Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]]


def scan(xs: Sequence[Value], dim: int, combine: Combine, neutral: Sequence) -> list[Value]:
    """The inclusive scan of the tuple `xs` along `dim`; `neutral` are numbers combine leaves
    alone.
    """
    size = xs[0].shape[dim]
    if size <= SHORT:
        return _doubling(xs, dim, combine, neutral)
    if size <= LONG or xs[0].numel // size >= WIDE:
        return _loop(xs, dim, combine, neutral)
    block = math.isqrt(size - 1) + 1
    split = [_split(x, dim, block, n) for x, n in zip(xs, neutral, strict=True)]
    inner = _loop(split, dim + 1, combine, neutral)
    ends = [_last(x, dim + 1) for x in inner]
    before = [
        hlo.expand_dims(_delayed(x, dim, 1, n), dim + 1)
        for x, n in zip(scan(ends, dim, combine, neutral), neutral, strict=True)
    ]
    before = [hlo.broadcast_to(b, x.shape) for b, x in zip(before, inner, strict=True)]
    return [_joined(x, dim, size) for x in combine(before, inner)]


def _doubling(xs, dim, combine, neutral):
    """Hillis and Steele's scan: after the step of width w each element covers 2 w before it."""
    width = 1
    while width < xs[0].shape[dim]:
        earlier = [_delayed(x, dim, width, n) for x, n in zip(xs, neutral, strict=True)]
        xs, width = combine(earlier, xs), 2 * width
    return list(xs)


def _loop(xs, dim, combine, neutral):
    """One step per element of `dim`, all other elements at once."""
    count, size = len(xs), xs[0].shape[dim]
    front = [dim] + [d for d in range(xs[0].ndim) if d != dim]
    rows = [hlo.transpose(x, front) for x in xs]
    zeros = [hlo.number(0, torch.int32)] * (rows[0].ndim - 1)
    inits = [hlo.full((1,) + x.shape[1:], n, x.dtype) for x, n in zip(rows, neutral, strict=True)]
    empty = [hlo.full(x.shape, 0, x.dtype) for x in rows]

    def step(i, *state):
        at = [i, *zeros]
        row = [hlo.dynamic_slice(x, at, (1,) + x.shape[1:]) for x in rows]
        carry = list(combine(state[:count], row))
        outs = zip(state[count:], carry, strict=True)
        return [i + 1, *carry, *(hlo.dynamic_update_slice(o, c, at) for o, c in outs)]

    start = [hlo.number(0, torch.int32), *inits, *empty]
    final = hlo.while_(start, lambda i, *_: i < size, step)
    back = [front.index(d) for d in range(len(front))]
    return [hlo.transpose(x, back) for x in final[1 + count :]]


def _delayed(x: Value, dim: int, by: int, neutral) -> Value:
    """x moved `by` places towards the end of `dim`, `neutral` moving in."""
    low, high = [0] * x.ndim, [0] * x.ndim
    low[dim], high[dim] = by, -by
    return hlo.pad(x, neutral, low, high)


def _split(x, dim, block, neutral):
    """`dim` as [blocks, block], padded at the end."""
    blocks = -(-x.shape[dim] // block)
    high = [0] * x.ndim
    high[dim] = blocks * block - x.shape[dim]
    padded = hlo.pad(x, neutral, [0] * x.ndim, high) if high[dim] else x
    return hlo.reshape(padded, x.shape[:dim] + (blocks, block) + x.shape[dim + 1 :])


def _last(x, dim):
    """The last slice along `dim`, which goes."""
    last = hlo.slice_dim(x, dim, x.shape[dim] - 1, x.shape[dim])
    return hlo.reshape(last, x.shape[:dim] + x.shape[dim + 1 :])


def _joined(x, dim, size):
    flat = hlo.reshape(x, x.shape[:dim] + (-1,) + x.shape[dim + 2 :])
    return hlo.slice_dim(flat, dim, 0, size)


def _running(fn: Callable[[Value, Value], Value], neutral):
    """The rule of a one-value scan, computed in the compute dtype; a 0-d value is its own scan."""

    def rule(out, x, dim, *, dtype=None):
        x = hlo.convert(x, compute_dtype(out.dtype))
        if x.ndim and x.numel:
            (x,) = scan([x], hlo.wrap_dim(dim, x.ndim), lambda a, b: [fn(a[0], b[0])], [neutral])
        return hlo.convert(x, out.dtype)

    return rule


rule_for(aten.cumsum.default)(_running(hlo.add, 0))
rule_for(aten.cumprod.default)(_running(hlo.mul, 1))

_real_logcumsumexp = _running(log_add_exp, -math.inf)


@rule_for(aten.logcumsumexp.default, aten._logcumsumexp.default)
def logcumsumexp(out, x, dim):
    """Of complex numbers one element after another: which multiple of 2 pi i a sum of logarithms
    ends at depends on the order.
    """
    if not (x.dtype.is_complex and x.ndim and x.numel):
        return _real_logcumsumexp(out, x, dim)

    def combine(earlier, later):
        return [log_add_exp(later[0], earlier[0])]

    return _loop([x], hlo.wrap_dim(dim, x.ndim), combine, [-math.inf])[0]


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
        if not x.ndim or not x.numel:
            return x, hlo.full(x.shape, 0, torch.int64)
        place = positions(x.shape, hlo.wrap_dim(dim, x.ndim))
        best, found = scan([x, place], hlo.wrap_dim(dim, x.ndim), combine, [0, -1])
        return best, hlo.convert(found, torch.int64)

    return rule


rule_for(aten.cummax.default)(_running_extreme("GE"))
rule_for(aten.cummin.default)(_running_extreme("LE"))
