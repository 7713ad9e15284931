"""Orders of elements: the permutation that sorts a value along its last dimension.

XLA:CPU sorts one int64 operand five times as fast as a key with its index, so a key of 32 bits and
the position are packed into one int64; a 64-bit key is sorted half by half, low half first (each
pass is stable because the position is part of the packed value). Sorting and search rules call
this.

Keys order as PyTorch does: NaN is greater than everything and equal to itself, -0.0 equals 0.0.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, linear, take_flat
from torch_neuronx.lowering.value import LoweringError, Value

_HALF = 2**31
_SMALL = 2**14


def sort_key(x: Value) -> Value:
    """An int32 (int64 for 64-bit dtypes) value that orders as `x` does."""
    if x.dtype.is_complex:
        raise LoweringError(f"complex values have no order, got {x}")
    if x.dtype.is_floating_point:
        return _float_key(x)
    if x.dtype == torch.uint64:
        return hlo.xor(hlo.bitcast(x, torch.int64), torch.iinfo(torch.int64).min)
    if x.dtype == torch.uint32:
        return hlo.xor(hlo.bitcast(x, torch.int32), torch.iinfo(torch.int32).min)
    return hlo.convert(x, torch.int64 if x.dtype.itemsize == 8 else torch.int32)


def _float_key(x: Value) -> Value:
    """The bits of a float, flipped below zero so that they order as integers."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    x = hlo.convert(x, wide)
    bits = hlo.bitcast(x, torch.int64 if wide == torch.float64 else torch.int32)
    largest = torch.iinfo(bits.dtype).max
    key = hlo.select(bits < 0, hlo.xor(bits, largest), bits)
    key = hlo.select(x == 0.0, 0, key)
    return hlo.select(hlo.is_nan(x), largest, key)


def sort_order(x: Value, descending: bool) -> Value:
    """int64: the stable order of the last dimension; equal elements keep their order either way."""
    key = sort_key(x)
    key = hlo.not_(key) if descending else key
    if key.dtype == torch.int32:
        return _pass(hlo.convert(key, torch.int64))
    low = hlo.and_(key, 2 * _HALF - 1) - _HALF
    first = _pass(low)
    second = _pass(take_along(hlo.shr_arith(key, 32), first))
    return take_along(first, second)


def _pass(key: Value) -> Value:
    """The order of int64 keys within int32's range, by one sort of (key, position) packed
    together.
    """
    position = hlo.iota(key.shape, key.ndim - 1, torch.int64)
    packed = hlo.or_(hlo.shl(key, 32), position)
    return hlo.and_(ascending(packed), 2 * _HALF - 1)


def ascending(x: Value) -> Value:
    """The distinct int64 values of the last dimension in order.

    XLA:CPU knows `a < b` and sorts with it natively, but newer builds cannot serialize such an
    executable; written as `b > a` it is compiled, which a small sort does not feel.
    """
    native = x.numel > _SMALL
    (x,) = hlo.sort([x], -1, lambda a, b: a < b if native else b > a, stable=False)
    return x


def largest(x: Value, k: int) -> Value:
    """int64: positions of the `k` greatest of the last dimension, greatest first, of a 32-bit key.

    XLA's top-k takes float32 and orders it by its bits, NaNs included, so the key travels as one.
    """
    bits = hlo.select(x < 0, hlo.xor(x, _HALF - 1), x)
    _, position = hlo.top_k(hlo.bitcast(bits, torch.float32), k)
    return hlo.convert(position, torch.int64)


def take_along(x: Value, index: Value) -> Value:
    """Elements of `x` at `index` of the last dimension; the other dimensions are the index's
    own.
    """
    return take_flat(flatten(x), linear(index, x.shape, x.ndim - 1))
