"""Results whose size along one dimension depends on the data: computed with room for the largest.

A rule returns a `Counted`: the elements packed to the front of that dimension, and how many there
are. `packed` gives the program's result, whose first elements are those of a dense tensor of the
true size; the launch reads the count, which is all that the host learns, and makes that tensor
(csrc/dispatch/counted.h). Called by rules and by `eager.placement`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, put
from torch_neuronx.lowering.index import index_dtype
from torch_neuronx.lowering.prefix import prefix_sum
from torch_neuronx.lowering.value import Value

# Up to so many blocks are written one by one, more of them by a loop.
_UNROLLED = 8


@dataclass(frozen=True)
class Counted:
    """`value` along `dim` up to `count`, a 0-d int64; what follows means nothing."""

    value: Value
    count: Value
    dim: int = 0


@dataclass(frozen=True)
class Masked:
    """A flat mask: where it is true, which true element each position is (0-based), and how many
    there are.
    """

    mask: Value
    rank: Value
    total: Value

    @functools.cached_property
    def size(self) -> Value:
        return hlo.convert(self.total, torch.int64)

    @property
    def place(self) -> Value:
        """The rank of what is true; nowhere for the rest."""
        return hlo.select(
            self.mask, self.rank, hlo.full(self.rank.shape, self.mask.numel, self.rank.dtype)
        )

    def pack(self, x: Value, dim: int = 0) -> Counted:
        """The slices of `x` along `dim` where the mask is true."""
        return Counted(put(hlo.full(x.shape, 0, x.dtype), dim, self.place, x), self.size, dim)


def masked(mask: Value, shape: Sequence[int]) -> Masked:
    """A mask, bool or by being nonzero, broadcast to `shape`."""
    mask = flatten(hlo.broadcast_to(hlo.convert(mask, torch.bool), tuple(shape)))
    ones = hlo.convert(mask, index_dtype(mask.numel))
    ended = prefix_sum(ones, 0, small=True)
    return Masked(mask, ended - ones, hlo.reduce(ones, [0], "add"))


def packed(result: Counted, order: Sequence[int]) -> Value:
    """The flat buffer of a dense tensor, `order` being its dimensions from the outermost on.

    Where other dimensions are outside the counted one, each of their blocks moves up to the end of
    the one before.
    """
    value, at = hlo.transpose(result.value, list(order)), list(order).index(result.dim)
    blocks, block = math.prod(value.shape[:at]), math.prod(value.shape[at:])
    inner = math.prod(value.shape[at + 1 :])
    if blocks == 1:
        return flatten(value)
    rows = hlo.reshape(value, (blocks, block))
    dtype = index_dtype(value.numel)
    step = hlo.convert(result.count, dtype) * inner

    def write(i, flat, step, rows):
        row = hlo.dynamic_slice(rows, [i, hlo.full((), 0, dtype)], (1, block))
        return [i + 1, hlo.dynamic_update_slice(flat, flatten(row), [i * step]), step, rows]

    state = [hlo.full((), 0, dtype), hlo.full((value.numel,), 0, value.dtype), step, rows]
    if blocks <= _UNROLLED:
        for _ in range(blocks):
            state = write(*state)
        return state[1]
    return hlo.while_(state, lambda i, *_: i < blocks, write)[1]
