"""Sums, means and maxima of bags of embedding rows, and their gradients.

Every bag is a segment of the flat index list; a row knows its bag from the offsets (one running
sum), and bags are formed by one row scatter. Entries equal to `padding_idx` belong to no bag.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import (
    checked,
    flatten,
    linear,
    put,
    put_flat,
    take,
    take_flat,
)
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.embedding import scatter_rows
from torch_neuronx.lowering.prefix import prefix_sum
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

SUM, MEAN, MAX = 0, 1, 2
BAD_INDEX = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {}"


class Bags(NamedTuple):
    """`member`: the bag of each entry; `target`: the same, or `number` for an entry left out;
    `sizes`.
    """

    member: Value
    target: Value
    number: int
    sizes: Value


def bag_of(offsets: Value, entries: int) -> Value:
    """The int64 bag number of each entry, from where the bags start."""
    starts = put_flat(
        hlo.full((entries,), 0, torch.int64),
        offsets,
        hlo.full(offsets.shape, 1, torch.int64),
        "add",
    )
    return prefix_sum(starts, 0) - 1


def collect(member: Value, index: Value, count: int, padding_idx: int) -> Bags:
    kept = (index != padding_idx) & (member < count)
    target = hlo.select(kept, member, count)
    ones = hlo.full(target.shape, 1, torch.int64)
    sizes = put_flat(hlo.full((count,), 0, torch.int64), target, ones, "add")
    return Bags(member, target, count, sizes)


def _check_offsets(offsets: Value, entries: int) -> None:
    first, last = (
        hlo.reshape(hlo.slice_dim(offsets, 0, i, i + 1), ()) for i in (0, offsets.numel - 1)
    )
    check(
        first != 0,
        "RuntimeError",
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
        "position 0. However, got {}",
        first,
    )
    message = (
        f"offsets[-1] can not be greater than input's length {entries} but got offsets[-1] of {{}}"
    )
    check(last > entries, "RuntimeError", message, last)


@lowers(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def _embedding_bag(
    out,
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=SUM,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=-1,
):
    """(result, offset2bag, bag_size, max_indices); what the mode does not need is zeros, as on
    CPU.
    """
    indices, offsets = (hlo.convert(v, torch.int64) for v in (indices, offsets))
    if offsets.numel:
        _check_offsets(offsets, indices.numel)
    index = checked(indices, weight.shape[0], "RuntimeError", BAD_INDEX, negative=False)
    bags = collect(bag_of(offsets, indices.numel), indices, out[0].shape[0], padding_idx)
    rows = hlo.convert(take(weight, 0, index), compute_dtype(weight.dtype))
    if per_sample_weights is not None:
        rows = rows * hlo.expand_dims(hlo.convert(per_sample_weights, rows.dtype), 1)
    if mode == MAX:
        result, winners = _maxima(rows, bags, indices)
    else:
        result, winners = _sums(rows, bags, mode), bags.sizes
    sizes = bags.sizes if mode != SUM else hlo.full(bags.sizes.shape, 0, torch.int64)
    extras = (bags.member, sizes, winners if mode != SUM else sizes)
    return [
        hlo.convert(result, out[0].dtype),
        *(_shaped(e, m) for e, m in zip(extras, out[1:], strict=True)),
    ]


def _shaped(x: Value, meta) -> Value:
    """A bookkeeping result at the size CPU gives it: empty, or with a place for the last offset."""
    x = hlo.convert(x, meta.dtype)
    if x.ndim != meta.ndim or not meta.numel:
        return hlo.full(meta.shape, 0, meta.dtype)
    return hlo.pad(x, 0, [0] * x.ndim, [m - n for m, n in zip(meta.shape, x.shape, strict=True)])


def _sums(rows: Value, bags: Bags, mode: int) -> Value:
    total = hlo.full((bags.number, rows.shape[1]), 0, rows.dtype)
    total = put(total, 0, bags.target, rows, "add")
    if mode == SUM:
        return total
    return total / hlo.expand_dims(hlo.max(hlo.convert(bags.sizes, rows.dtype), 1.0), 1)


def _maxima(rows: Value, bags: Bags, indices: Value) -> tuple[Value, Value]:
    """(maximum of each bag and column, the index of the first row that has it); zeros for an
    empty bag.
    """
    shape, entries = (bags.number, rows.shape[1]), rows.shape[0]
    best = put(hlo.full(shape, float("-inf"), rows.dtype), 0, bags.target, rows, "max")
    entry = hlo.iota(rows.shape, 0, torch.int64)
    has_best = rows == take(best, 0, bags.member)
    first = put(
        hlo.full(shape, entries, torch.int64),
        0,
        bags.target,
        hlo.select(has_best, entry, entries),
        "min",
    )
    filled = hlo.expand_dims(bags.sizes > 0, 1)
    return hlo.select(filled, best, 0.0), hlo.select(first < entries, take_flat(indices, first), 0)


@lowers(aten._embedding_bag_backward.default)
def _embedding_bag_backward(
    out, grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights,
    scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx=-1,
):  # fmt: skip
    member = _members(indices, offsets, offset2bag)
    return weight_grad(
        out, grad, indices, member, bag_size, maximum_indices, scale_grad_by_freq, mode,
        per_sample_weights, padding_idx,
    )  # fmt: skip


@lowers(aten._embedding_bag_dense_backward.default)
def _embedding_bag_dense_backward(
    out, grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq,
    mode, per_sample_weights, padding_idx=-1,
):  # fmt: skip
    return weight_grad(
        out, grad, indices, offset2bag, bag_size, maximum_indices, scale_grad_by_freq, mode,
        per_sample_weights, padding_idx,
    )  # fmt: skip


def _members(indices: Value, offsets: Value, offset2bag: Value) -> Value:
    """CPU's forward leaves offset2bag empty where its quick kernel did not need it."""
    if offset2bag.numel == indices.numel:
        return hlo.convert(offset2bag, torch.int64)
    return bag_of(hlo.convert(offsets, torch.int64), indices.numel)


def weight_grad(
    out, grad, indices, member, bag_size, winners, by_freq, mode, weights, padding_idx
) -> Value:
    grad = hlo.convert(grad, compute_dtype(grad.dtype))
    if mode == MAX:
        return _max_grad(out, grad, winners, bag_size)
    if mode == MEAN:
        sizes = hlo.convert(hlo.slice_dim(bag_size, 0, 0, grad.shape[0]), grad.dtype)
        grad = grad / hlo.expand_dims(hlo.max(sizes, 1.0), 1)
    rows = take(grad, 0, member)
    if weights is not None:
        rows = rows * hlo.expand_dims(hlo.convert(weights, rows.dtype), 1)
    return scatter_rows(out, rows, hlo.convert(indices, torch.int64), padding_idx, by_freq)


def _max_grad(out, grad: Value, winners: Value, bag_size: Value) -> Value:
    """Each element of the gradient goes to the row that won; those of empty bags to none."""
    winners = hlo.slice(winners, [0, 0], grad.shape)
    filled = hlo.slice_dim(bag_size, 0, 0, grad.shape[0]) > 0
    row = hlo.select(hlo.expand_dims(filled, 1), winners, out.shape[0])
    flat = hlo.full((out.numel,), 0, grad.dtype)
    total = put_flat(flat, linear(row, out.shape, 0), flatten(grad), "add")
    return hlo.convert(hlo.reshape(total, out.shape), out.dtype)


@lowers(aten._embedding_bag_per_sample_weights_backward.default)
def _per_sample_weights_backward(
    out, grad, weight, indices, offsets, offset2bag, mode, padding_idx=-1
):
    """The product of each entry's row with its bag's gradient."""
    wide = compute_dtype(out.dtype)
    member = _members(indices, offsets, offset2bag)
    rows = hlo.convert(take(weight, 0, indices), wide) * hlo.convert(take(grad, 0, member), wide)
    dots = hlo.reduce(rows, [1], "add")
    return hlo.convert(hlo.select(indices != padding_idx, dots, 0.0), out.dtype)
