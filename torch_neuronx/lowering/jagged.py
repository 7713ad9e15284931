"""Between jagged values and padded batches: what nested tensors of layout jagged are made dense by.

Values [L, ...] hold the rows of B batch items one after the other, item b from offsets[b] up to
offsets[b + 1]; the padded form is [B, T, ...].
"""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import first_where, take, take_at
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.searching import lower_or_upper_bound
from torch_neuronx.lowering.value import LoweringError

aten = torch.ops.aten


def _ends(offsets):
    """Where each item begins and ends, int64[B] each."""
    if len(offsets) != 1:
        raise LoweringError(f"expected one ragged dimension, got {len(offsets)} lists of offsets")
    bounds = hlo.convert(offsets[0], torch.int64)
    items = bounds.numel - 1
    return hlo.slice_dim(bounds, 0, 0, items), hlo.slice_dim(bounds, 0, 1, items + 1)


@lowers(aten._jagged_to_padded_dense_forward.default, runtime=("padding_value",))
def _jagged_to_padded(out, values, offsets, max_lengths, padding_value=0.0):
    """Rows past T are left out, places past an item's end take the padding."""
    begin, end = (hlo.expand_dims(bound, 1) for bound in _ends(offsets))
    shape = out.shape[:2]
    place = hlo.iota(shape, 1, torch.int64) + hlo.broadcast_to(begin, shape)
    inside = place < hlo.broadcast_to(end, shape)
    rows = take(values, 0, hlo.select(inside, place, 0))
    padding = hlo.broadcast_to(hlo.convert(padding_value, out.dtype), out.shape)
    return hlo.select(_over_rows(inside, out.shape), rows, padding)


@lowers(aten._padded_dense_to_jagged_forward.default)
def _padded_to_jagged(out, dense, offsets, total_L=None):
    """An item longer than T and a last offset other than L are errors, as on CPU."""
    begin, end = _ends(offsets)
    if not out.shape[0] or not end.numel:
        return hlo.full(out.shape, 0, out.dtype)
    longest = dense.shape[1]
    total = hlo.reshape(hlo.slice_dim(end, 0, end.numel - 1, end.numel), ())
    check(
        total != out.shape[0],
        "RuntimeError",
        "_padded_dense_to_jagged_forward(): final offset should match total_L value",
    )
    failed, length = first_where(end - begin > longest, end - begin)
    check(
        failed,
        "RuntimeError",
        "_padded_dense_to_jagged_forward(): found batch item of length {} when max length specified"
        f" by padded input is {longest}",
        length,
    )
    place = hlo.iota((out.shape[0],), 0, torch.int64)
    item = lower_or_upper_bound(end, place, right=True)
    item = hlo.min(item, end.numel - 1)
    column = place - take(begin, 0, item)
    inside = (place < take(end, 0, item)) & (column < longest)
    rows = take_at(dense, [item, hlo.select(inside, column, 0)], [0, 1], 0)
    return hlo.select(_over_rows(inside, out.shape), rows, hlo.full(out.shape, 0, out.dtype))


def _over_rows(x, shape):
    for d in range(x.ndim, len(shape)):
        x = hlo.expand_dims(x, d)
    return hlo.broadcast_to(x, shape)


def _rows(dense, offsets, total_L=None):
    """CPU's kernel reads the last offset, which for L it would have to be; in offsets that stand
    for the call's own it means nothing."""
    if total_L is None:
        raise DynamicOutputShapeException(aten._padded_dense_to_jagged_forward.default)
    if len(offsets) != 1:
        raise RuntimeError(f"expected one ragged dimension, got {len(offsets)} lists of offsets")
    return dense.new_empty((total_L, *dense.shape[2:]))


infers(aten._padded_dense_to_jagged_forward.default, cpu_form=_rows)(_rows)
