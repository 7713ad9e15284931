"""LU factorisation with partial pivoting, of batches of matrices [batch, m, n].

Not a home for rules: those of determinants, inverses and solves are in `linear_systems`. A panel of
columns is factored column by column, as LAPACK's getf2 does it, with the same pivots; a larger
matrix is a loop over panels, each followed by one product that updates what is right of it. The
loop's shapes are fixed, so it updates all of the matrix: halving a large one first spares most of
that.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take
from torch_neuronx.lowering.matrices import (
    at,
    flipped,
    inverse_of_unit_lower,
    over_columns,
    over_rows,
    padded,
    places,
    product,
    rounded_up,
    start,
    unit_lower,
    zeros,
)
from torch_neuronx.lowering.value import Value

# Up to SINGLE columns are one panel; else panels have BLOCK. A matrix of more than LOOP columns is
# halved, HALVINGS times: each doubles the time to compile.
SINGLE, BLOCK, LOOP, HALVINGS = 64, 32, 128, 1


class Factors(NamedTuple):
    """L below the diagonal of `lu` and U on and above it; `pivots` int32 [batch, min(m, n)], the
    row that each was swapped with; `order` int32 [batch, m], the rows after all swaps."""

    lu: Value
    pivots: Value
    order: Value


def factor(a: Value, halvings: int = HALVINGS) -> Factors:
    batch, m, n = a.shape
    count = min(m, n)
    if not a.numel:
        return Factors(a, hlo.full((batch, count), 0, torch.int32), places((batch, m), 1))
    if n <= SINGLE:
        columns, pivots, order = _panel(flipped(a), 0, count, count)
        return Factors(flipped(columns), pivots, order)
    if count > LOOP and halvings:
        return _halved(a, rounded_up(count // 2, BLOCK), halvings - 1)
    return _blocked(a, count)


def _halved(a: Value, half: int, halvings: int) -> Factors:
    """The columns before `half`, then what they leave of those after it."""
    first = factor(hlo.slice_dim(a, 2, 0, half), halvings)
    top, below = _split(first.lu, half)
    right, rest = _split(take_rows(hlo.slice_dim(a, 2, half, a.shape[2]), first.order), half)
    right = hlo.triangular_solve(top, right, left=True, lower=True, unit=True)
    second = factor(rest - product(below, right), halvings)
    kept, moved = _split(first.order, half)
    rows = [
        hlo.concat([top, right], 2),
        hlo.concat([take_rows(below, second.order), second.lu], 2),
    ]
    return Factors(
        hlo.concat(rows, 1),
        hlo.concat([first.pivots, second.pivots + half], 1),
        hlo.concat([kept, take_rows(moved, second.order)], 1),
    )


def _split(x: Value, at: int) -> tuple[Value, Value]:
    return hlo.slice_dim(x, 1, 0, at), hlo.slice_dim(x, 1, at, x.shape[1])


def _blocked(a: Value, count: int) -> Factors:
    batch, m, n = a.shape
    whole = rounded_up(count, BLOCK)
    a = padded(a, max(m, whole), max(n, whole))
    rows = (batch, a.shape[1])

    def step(k, a, pivots, order):
        panel = hlo.dynamic_slice(a, start(0, 0, k), (*rows, BLOCK))
        left = hlo.min(count - k, BLOCK)
        panel, of_panel, swaps = _panel(flipped(panel), k, left, BLOCK)
        a, order = take_rows(a, swaps), take_rows(order, swaps)
        pivots = hlo.dynamic_update_slice(pivots, of_panel, start(0, k))
        return [k + BLOCK, _updated(a, flipped(panel), k), pivots, order]

    inits = [hlo.number(0, torch.int32), a, hlo.full((batch, whole), 0, torch.int32)]
    _, a, pivots, order = hlo.while_([*inits, places(rows, 1)], lambda k, *_: k < count, step)
    lu = hlo.slice(a, [0, 0, 0], [batch, m, n])
    return Factors(lu, hlo.slice_dim(pivots, 1, 0, count), hlo.slice_dim(order, 1, 0, m))


def _updated(a: Value, panel: Value, k: Value) -> Value:
    """`a` with its columns from `k` on replaced by a factored panel, and what is right of it
    eliminated."""
    batch, _, n = a.shape
    a = hlo.dynamic_update_slice(a, panel, start(0, 0, k))
    corner = hlo.dynamic_slice(panel, start(0, k, 0), (batch, BLOCK, BLOCK))
    top = hlo.dynamic_slice(a, start(0, k, 0), (batch, BLOCK, n))
    right = places(top.shape, 2) >= at(k + BLOCK, top)
    solved = product(inverse_of_unit_lower(unit_lower(corner)), top)
    below = places(panel.shape, 1) >= at(k + BLOCK, panel)
    multipliers = hlo.select(below, panel, zeros(panel))
    a = a - product(multipliers, hlo.select(right, solved, zeros(solved)))
    return hlo.dynamic_update_slice(a, hlo.select(right, solved, top), start(0, k, 0))


def _panel(columns: Value, k, steps, width: int) -> tuple[Value, Value, Value]:
    """Factors a panel given transposed, [batch, n, m], whose first column is the matrix's `k`-th,
    by `steps` columns -> (the panel, pivots [batch, width], the order of its rows).

    Transposed, a column is contiguous.
    """
    batch, _, m = columns.shape

    def step(j, columns, pivots, order):
        i = k + j
        pivot = _pivot(_column(columns, j), i)
        columns, order = _swapped(columns, i, pivot), _swapped(order, i, pivot)
        pivots = hlo.dynamic_update_slice(pivots, pivot, start(0, j))
        return [j + 1, _eliminated(columns, i, j), pivots, order]

    inits = [hlo.number(0, torch.int32), columns, hlo.full((batch, width), 0, torch.int32)]
    return tuple(hlo.while_([*inits, places((batch, m), 1)], lambda j, *_: j < steps, step)[1:])  # type: ignore[return-value]


def _column(columns: Value, j: Value) -> Value:
    batch, _, m = columns.shape
    return hlo.reshape(hlo.dynamic_slice(columns, start(0, j, 0), (batch, 1, m)), (batch, m))


def _pivot(column: Value, i: Value) -> Value:
    """int32 [batch, 1]: the first of the largest from `i` on; of complex numbers |re| + |im|."""
    if column.dtype.is_complex:
        size = hlo.abs(hlo.real(column)) + hlo.abs(hlo.imag(column))
    else:
        size = hlo.abs(column)
    place = places(column.shape, 1)
    size = hlo.select(place >= at(i, column), size, hlo.full(size.shape, -1, size.dtype))
    largest = hlo.broadcast_to(hlo.reduce(size, [1], "max", keepdim=True), size.shape)
    found = hlo.select(size == largest, place, at(column.shape[1], column))
    first = hlo.reduce(found, [1], "min", keepdim=True)
    return hlo.select(first == column.shape[1], at(i, first), first)  # NaN equals nothing


def _swapped(x: Value, i: Value, pivot: Value) -> Value:
    """`x` with its elements `i` and pivot[b] of the last dimension swapped."""
    last = x.ndim - 1
    window = (*x.shape[:-1], 1)
    here = hlo.dynamic_slice(x, start(*[0] * last, i), window)
    if x.shape[0] == 1:
        there = start(*[0] * last, hlo.reshape(pivot, ()))
        other = hlo.dynamic_slice(x, there, window)
        x = hlo.dynamic_update_slice(x, here, there)
    else:
        chosen = places(x.shape, last) == hlo.broadcast_in_dim(pivot, x.shape, [0, last])
        other = hlo.reduce(hlo.select(chosen, x, zeros(x)), [last], "add", keepdim=True)
        x = hlo.select(chosen, hlo.broadcast_to(here, x.shape), x)
    return hlo.dynamic_update_slice(x, other, start(*[0] * last, i))


def _eliminated(columns: Value, i: Value, j: Value) -> Value:
    """The panel's column `j` divided by its pivot, in row `i`, and taken from those after it. A
    pivot of zero has only zeros below it, which stay."""
    batch, n, _ = columns.shape
    column = _column(columns, j)
    pivot = hlo.dynamic_slice(column, start(0, i), (batch, 1))
    pivot = hlo.select(pivot == 0, hlo.full(pivot.shape, 1, pivot.dtype), pivot)
    below = places(column.shape, 1) > at(i, column)
    ratio = hlo.select(below, column / hlo.broadcast_to(pivot, column.shape), zeros(column))
    row = hlo.reshape(hlo.dynamic_slice(columns, start(0, 0, i), (batch, n, 1)), (batch, n))
    row = hlo.select(places(row.shape, 1) > at(j, row), row, zeros(row))
    shape = columns.shape
    own = (places(shape, 1) == at(j, columns)) & over_columns(below, shape)
    ratios = over_columns(ratio, shape)
    return hlo.select(own, ratios, columns - over_rows(row, shape) * ratios)


def take_rows(x: Value, order: Value) -> Value:
    """x[b, order[b, i]] for each i: rows of matrices or elements of vectors."""
    batch, size = x.shape[:2]
    flat = hlo.reshape(x, (batch * size, *x.shape[2:]))
    position = order if batch == 1 else order + places(order.shape, 0) * size
    taken = take(flat, 0, hlo.reshape(position, (position.numel,)))
    return hlo.reshape(taken, (batch, order.shape[1], *x.shape[2:]))


def swaps(pivots: Value, size: int) -> Value:
    """int32 [batch, size]: the order of rows that `pivots` (0-based) leave them in."""
    batch, count = pivots.shape

    def step(i, order):
        return [i + 1, _swapped(order, i, hlo.dynamic_slice(pivots, start(0, i), (batch, 1)))]

    inits = [hlo.number(0, torch.int32), places((batch, size), 1)]
    return hlo.while_(inits, lambda i, _: i < count, step)[1] if count else inits[1]
