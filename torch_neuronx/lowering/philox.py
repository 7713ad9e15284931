"""Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) as a program.

XLA:CPU's own generator makes each word in turn; this one makes the four words of many counters side
by side. The ten rounds are a loop of two because a loop is what keeps the compiler from computing
all four words anew for each of the four parts they are joined from. Called by `rng`.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.value import Value

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOOPS, _ROUNDS = 2, 5


def bits(state: Value, shape: tuple[int, ...], width: int) -> Value:
    """Uniform uint32 (`width` 32) or uint64 (64) of `shape` from `state`, the uint64[2] (seed,
    offset).

    Uses the counters offset, offset + 1, ..., four words from each.
    """
    numel = math.prod(shape)
    w0, w1, w2, w3 = words(state, -(-numel * width // 128))
    if width == 32:
        flat = hlo.concat([w0, w1, w2, w3], 0)
    else:
        low, high = (hlo.convert(hlo.concat(w, 0), torch.uint64) for w in ([w0, w2], [w1, w3]))
        flat = low | hlo.shl(high, 32)
    return hlo.reshape(hlo.slice_dim(flat, 0, 0, numel), shape)


def words(state: Value, count: int) -> list[Value]:
    """The four uint32[count] outputs of counters offset, offset + 1, ...; `state` is uint64
    (seed, offset).
    """
    seed, offset = (hlo.reshape(hlo.slice_dim(state, 0, i, i + 1), ()) for i in (0, 1))
    counter = hlo.iota((count,), 0, torch.uint64) + offset
    zero = hlo.full((count,), 0, torch.uint32)
    start = [hlo.full((), 0, torch.int32), *_halves(counter), zero, zero, *_halves(seed)]

    def body(step, *rest):
        for _ in range(_ROUNDS):
            rest = _round(*rest)
        return [step + 1, *rest]

    return hlo.while_(start, lambda step, *_: step < _LOOPS, body)[1:5]


def _round(c0: Value, c1: Value, c2: Value, c3: Value, k0: Value, k1: Value) -> tuple[Value, ...]:
    low0, high0 = _product(c0, _MULTIPLIERS[0])
    low1, high1 = _product(c2, _MULTIPLIERS[1])
    return high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0, k0 + _WEYL[0], k1 + _WEYL[1]


def _product(word: Value, factor: int) -> tuple[Value, Value]:
    return _halves(hlo.convert(word, torch.uint64) * factor)


def _halves(x: Value) -> tuple[Value, Value]:
    """(low, high) words of a uint64."""
    return hlo.convert(x, torch.uint32), hlo.convert(hlo.shr_logical(x, 32), torch.uint32)
