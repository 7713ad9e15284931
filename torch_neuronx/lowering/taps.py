"""Axes resampled by fixed taps: what adaptive pooling, interpolation and their gradients share.

A `Taps` says of each output position along one axis which input positions it reads and with what
weight. It is made of numpy arrays from shapes alone, so it is a constant of the program; its
transpose is again a `Taps`, which is how the gradient rules get theirs. Pooling and upsampling
rules call `resample`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take
from torch_neuronx.lowering.reduction import total

_UNROLLED = 8


@dataclass(frozen=True)
class Taps:
    """index, weight and valid are [outputs, taps]; entries that are not valid pad a short row."""

    index: np.ndarray
    weight: np.ndarray
    valid: np.ndarray
    size: int

    @staticmethod
    def of(index: np.ndarray, weight: np.ndarray, size: int) -> Taps:
        return Taps(index, weight, np.ones(index.shape, bool), size)

    @staticmethod
    def windows(starts: np.ndarray, ends: np.ndarray, size: int) -> Taps:
        """Each output reads the run [start, end) of the input with weight one."""
        offsets = np.arange(max(1, int((ends - starts).max(initial=1))))
        index = starts[:, None] + offsets
        valid = index < ends[:, None]
        return Taps(np.where(valid, index, starts[:, None]), valid.astype(np.float64), valid, size)

    def columns(self, start: int, end: int) -> Taps:
        """The taps numbered from `start` up to `end` of every output."""
        index, weight, valid = (t[:, start:end] for t in (self.index, self.weight, self.valid))
        return Taps(index, weight, valid, self.size)

    def transposed(self) -> Taps:
        """The taps of the gradient: for each input position, the outputs that read it."""
        outputs, slots = np.nonzero(self.valid)
        inputs = self.index[outputs, slots]
        order = np.argsort(inputs, kind="stable")
        counts = np.bincount(inputs, minlength=self.size)
        width = max(1, int(counts.max(initial=1)))
        rank = np.arange(len(inputs)) - np.repeat(np.cumsum(counts) - counts, counts)
        index = np.zeros((self.size, width), np.int64)
        weight = np.zeros((self.size, width), self.weight.dtype)
        valid = np.zeros((self.size, width), bool)
        where = (inputs[order], rank)
        index[where] = outputs[order]
        weight[where] = self.weight[outputs, slots][order]
        valid[where] = True
        return Taps(index, weight, valid, len(self.index))


def resample(x, axis: int, taps: Taps):
    """The weighted sum of `taps` along `axis`; x is in the dtype to accumulate in.

    A few taps are added one after another, which XLA fuses into one loop; many are a reduction.
    """
    count, width = taps.index.shape
    if _are_blocks(taps) or width > _UNROLLED:
        return total(_weighted(read_taps(x, axis, taps), axis, taps), [axis + 1])
    columns = [taps.columns(tap, tap + 1) for tap in range(width)]
    terms = [_weighted(read_taps(x, axis, column), axis, column) for column in columns]
    shape = x.shape[:axis] + (count,) + x.shape[axis + 1 :]
    return hlo.reshape(reduce(add, terms), shape)


def read_taps(x, axis: int, taps: Taps):
    """x with `axis` replaced by two: outputs and taps. What is not valid is some other element."""
    count, width = taps.index.shape
    shape = x.shape[:axis] + (count, width) + x.shape[axis + 1 :]
    if _are_blocks(taps):
        return hlo.reshape(x, shape)
    if _are_repeats(taps):
        times = count // taps.size
        spread = x.shape[: axis + 1] + (times,) + x.shape[axis + 1 :]
        dims = [d for d in range(len(spread)) if d != axis + 1]
        return hlo.reshape(hlo.broadcast_in_dim(x, spread, dims), shape)
    return take(x, axis, hlo.constant(taps.index.astype(np.int32)))


def _are_blocks(taps: Taps) -> bool:
    """Whether the windows cut the axis into equal pieces, so that a reshape reads them."""
    place = np.arange(taps.size).reshape(-1, 1)
    return taps.index.size == taps.size and np.array_equal(taps.index.reshape(-1, 1), place)


def _are_repeats(taps: Taps) -> bool:
    """Whether every input element is read by the same number of outputs in a row, once each."""
    count, width = taps.index.shape
    if width != 1 or not taps.size or count % taps.size:
        return False
    return np.array_equal(taps.index[:, 0], np.arange(count) * taps.size // count)


def _weighted(read, axis: int, taps: Taps):
    if not np.all(taps.weight == 1):
        read = read * along(taps.weight, axis, read, read.dtype)
    if not taps.valid.all():
        read = hlo.select(along(taps.valid, axis, read, torch.bool), read, 0)
    return read


def along(table: np.ndarray, axis: int, like, dtype):
    """The [outputs, taps] table broadcast to `like`, at its axes `axis` and `axis + 1`."""
    value = hlo.convert(hlo.constant(table), dtype)
    return hlo.broadcast_in_dim(value, like.shape, [axis, axis + 1])
