"""Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) as a program.

XLA:CPU's own generator makes one word after the other; this one makes the words of all counters
side by side, 10 to 20 times as fast. The ten rounds are a loop of two because a loop is what keeps
the compiler from computing a block anew for each of the words taken from it. Called by `rng`.
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
    """Uniform uint32 (`width` 32) or uint64 (64) of `shape` from `state`, uint64[2] (seed, offset).

    The counters used are offset, offset + 1, ..., 128 bits from each.
    """
    numel = math.prod(shape)
    flat = hlo.concat(blocks(state, -(-numel * width // 128)), 0)
    flat = hlo.bitcast(flat, torch.uint32) if width == 32 else flat
    return hlo.reshape(hlo.slice_dim(flat, 0, 0, numel), tuple(shape))


def blocks(state: Value, count: int) -> list[Value]:
    """The two uint64[count] halves of each of `count` blocks."""
    seed, offset = (hlo.reshape(hlo.slice_dim(state, 0, i, i + 1), ()) for i in (0, 1))
    counter = hlo.iota((count,), 0, torch.uint64) + offset
    start = [hlo.full((), 0, torch.int32), counter, hlo.full((count,), 0, torch.uint64)]

    def body(step: Value, low: Value, high: Value, *key: Value) -> list[Value]:
        words = [*_halves(low), *_halves(high)]
        for _ in range(_ROUNDS):
            words = _round(*words, *key)
            key = tuple(k + w for k, w in zip(key, _WEYL, strict=True))
        return [step + 1, _joined(*words[:2]), _joined(*words[2:]), *key]

    return hlo.while_([*start, *_halves(seed)], lambda step, *_: step < _LOOPS, body)[1:3]


def _round(c0: Value, c1: Value, c2: Value, c3: Value, k0: Value, k1: Value) -> list[Value]:
    low0, high0 = _halves(hlo.convert(c0, torch.uint64) * _MULTIPLIERS[0])
    low1, high1 = _halves(hlo.convert(c2, torch.uint64) * _MULTIPLIERS[1])
    return [high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0]


def _halves(x: Value) -> tuple[Value, Value]:
    """(low, high) words of uint64s."""
    return hlo.convert(x, torch.uint32), hlo.convert(hlo.shr_logical(x, 32), torch.uint32)


def _joined(low: Value, high: Value) -> Value:
    return hlo.convert(low, torch.uint64) | hlo.shl(hlo.convert(high, torch.uint64), 32)
