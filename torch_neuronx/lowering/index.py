"""Arithmetic on int64 indices at the width they need. Called by indexing rules and recipes."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.value import Value

_INT32_MAX = 2**31 - 1


def index_dtype(extent: int) -> torch.dtype:
    """The narrowest of int32 and int64 that holds every index below `extent`, and `extent`."""
    return torch.int32 if extent <= _INT32_MAX else torch.int64


def narrow(index: Value, extent: int) -> Value:
    """An index already known to be within [-extent, extent] at the width `extent` needs."""
    return hlo.convert(index, index_dtype(extent))


def wrap(index: Value, size: int) -> tuple[Value, Value]:
    """(index made non-negative and narrowed, bool: which were within [-size, size)).

    An index that was out of range becomes `size`: a scatter drops it, a gather must be checked.
    The comparison is made at the index's own width, so huge values do not wrap into range.
    """
    index = hlo.convert(index, torch.int64)
    valid = hlo.and_(index >= -size, index < size)
    dtype = index_dtype(size)
    small = hlo.convert(hlo.select(valid, index, size), dtype)
    return hlo.select(small < 0, small + size, small), valid
