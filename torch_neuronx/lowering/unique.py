"""Distinct elements and slices: unique and unique_consecutive, of all elements or along a
dimension.

Equal elements are brought together by a sort; each first one of a run is packed to the front of a
result with room for all (`counted`). NaN differs from itself, as on CPU.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, linear, put_flat, take
from torch_neuronx.lowering.counted import Counted, Masked, masked
from torch_neuronx.lowering.ordering import sort_key, sort_order, take_along
from torch_neuronx.lowering.prefix import prefix_sum
from torch_neuronx.lowering.registry import bounds, lowers
from torch_neuronx.lowering.value import Value
from torch_neuronx.lowering.view_updates import pad_dim
from torch_neuronx.lowering.views import move_dim

aten = torch.ops.aten


def _of_elements(x, with_inverse: bool, with_counts: bool):
    """Room for the results of the ops that see x as flat: what is not asked for is empty."""
    n = x.numel()
    inverse = x.new_empty(x.shape if with_inverse else 0, dtype=torch.int64)
    return x.new_empty(n), inverse, x.new_empty(n if with_counts else 0, dtype=torch.int64)


def _of_slices(x, dim: int):
    front = x.movedim(dim, 0).shape
    places = [x.new_empty(x.shape[dim], dtype=torch.int64) for _ in range(2)]
    return x.new_empty(front).movedim(0, dim), *places


@bounds(aten._unique2.default)
def _unique2_bounds(x, sorted=True, return_inverse=False, return_counts=False):
    return _of_elements(x, return_inverse, return_counts)


@bounds(aten._unique.default)
def _unique_bounds(x, sorted=True, return_inverse=False):
    return _of_elements(x, return_inverse, False)[:2]


@bounds(aten.unique_consecutive.default)
def _unique_consecutive_bounds(x, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        return _of_slices(x, dim)
    return _of_elements(x, return_inverse, return_counts)


@bounds(aten.unique_dim.default)
def _unique_dim_bounds(x, dim, sorted=True, return_inverse=False, return_counts=False):
    return _of_slices(x, dim)


@bounds(aten.unique_dim_consecutive.default)
def _unique_dim_consecutive_bounds(x, dim, return_inverse=False, return_counts=False):
    return _of_slices(x, dim)


@lowers(aten._unique2.default)
def _unique2(out, x, sorted=True, return_inverse=False, return_counts=False):
    return _elements(out, x, return_inverse, return_counts, in_order=False)


@lowers(aten._unique.default)
def _unique(out, x, sorted=True, return_inverse=False):
    return _elements((*out, None), x, return_inverse, False, in_order=False)[:2]


@lowers(aten.unique_consecutive.default)
def _unique_consecutive(out, x, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        return _slices(out, x, dim, in_order=True)
    return _elements(out, x, return_inverse, return_counts, in_order=True)


@lowers(aten.unique_dim.default)
def _unique_dim(out, x, dim, sorted=True, return_inverse=False, return_counts=False):
    return _slices(out, x, dim, in_order=False)


@lowers(aten.unique_dim_consecutive.default)
def _unique_dim_consecutive(out, x, dim, return_inverse=False, return_counts=False):
    return _slices(out, x, dim, in_order=True)


def _elements(out, x: Value, with_inverse: bool, with_counts: bool, in_order: bool):
    if not x.numel:
        return _empty(out)
    x = flatten(x)
    order = None if in_order or x.numel == 1 else sort_order(x, descending=False)
    x = x if order is None else take_along(x, order)
    runs = _runs(x)
    inverse = _inverse(runs, order) if with_inverse else None
    counts = _lengths(runs) if with_counts else None
    return (
        runs.pack(x),
        hlo.full((0,), 0, torch.int64) if inverse is None else hlo.reshape(inverse, out[1].shape),
        hlo.full((0,), 0, torch.int64) if counts is None else counts,
    )


def _slices(out, x: Value, dim: int, in_order: bool):
    """Along `dim`: (distinct slices, inverse, counts), the last two always."""
    if not x.numel:
        return _empty(out)
    dim = hlo.wrap_dim(dim, x.ndim)
    front = move_dim(x, dim, 0)
    rows = hlo.reshape(front, (front.shape[0], -1))
    order = None if in_order or rows.shape[0] == 1 else _order_of_rows(rows)
    rows = rows if order is None else take(rows, 0, order)
    runs = _runs(rows)
    value = hlo.reshape(runs.pack(rows).value, front.shape)
    return Counted(move_dim(value, 0, dim), runs.size, dim), _inverse(runs, order), _lengths(runs)


def _empty(out):
    return tuple(None if meta is None else hlo.full(meta.shape, 0, meta.dtype) for meta in out)


def _runs(x: Value) -> Masked:
    """Where along dimension 0 a slice differs from the one before."""
    n = x.shape[0]
    changes = hlo.slice_dim(x, 0, 1, n) != hlo.slice_dim(x, 0, 0, n - 1)
    if changes.ndim > 1:
        changes = hlo.reduce(changes, list(range(1, changes.ndim)), "or")
    first = hlo.full((1,), True, torch.bool)
    return masked(hlo.concat([first, changes], 0), (n,))


def _number_of_run(runs: Masked) -> Value:
    """int64[n]: the run that each position is in."""
    begun = runs.rank + hlo.convert(runs.mask, runs.rank.dtype)
    return hlo.convert(begun, torch.int64) - 1


def _inverse(runs: Masked, order: Value | None) -> Value:
    run = _number_of_run(runs)
    return run if order is None else put_flat(hlo.full(run.shape, 0, torch.int64), order, run)


def _lengths(runs: Masked) -> Counted:
    n = runs.mask.numel
    starts = put_flat(hlo.full((n,), n, torch.int64), runs.place, hlo.iota((n,), 0, torch.int64))
    ends = hlo.concat([hlo.slice_dim(starts, 0, 1, n), hlo.full((1,), n, torch.int64)], 0)
    return Counted(ends - starts, runs.size)


def _order_of_rows(rows: Value) -> Value:
    """int64[n]: the order of rows, compared from their first element on.

    Each column's elements are replaced by their rank in it; two neighbouring columns are one of
    pairs of ranks, which are ranked again, until one column is left.
    """
    n = rows.shape[0]
    ranks = _dense_ranks(sort_key(hlo.transpose(rows, [1, 0])))
    while ranks.shape[0] > 1:
        ranks = pad_dim(ranks, 0, 0, 1) if ranks.shape[0] % 2 else ranks
        pairs = hlo.reshape(ranks, (ranks.shape[0] // 2, 2, n))
        first, second = (hlo.reshape(hlo.slice_dim(pairs, 1, d, d + 1), (-1, n)) for d in (0, 1))
        ranks = _dense_ranks(first * n + second)
    return sort_order(hlo.reshape(ranks, (n,)), descending=False)


def _dense_ranks(keys: Value) -> Value:
    """int64[m, n]: how many distinct smaller keys each key's row has."""
    n = keys.shape[-1]
    order = sort_order(keys, descending=False)
    ordered = take_along(keys, order)
    changes = hlo.slice_dim(ordered, 1, 1, n) != hlo.slice_dim(ordered, 1, 0, n - 1)
    run = prefix_sum(hlo.convert(changes, torch.int32), 1, small=True)
    run = hlo.convert(pad_dim(run, 1, 1, 0), torch.int64)
    place = linear(order, keys.shape, 1)
    return hlo.reshape(put_flat(hlo.full((keys.numel,), 0, torch.int64), place, run), keys.shape)
