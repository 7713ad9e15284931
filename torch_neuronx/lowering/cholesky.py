"""Rules of the Cholesky factorisation and of what is solved with it.

LAPACK's is several times faster; the program here serves where a program cannot call that.
XLA's own expansion of stablehlo.cholesky takes ten times as long on the CPU as this loop over
blocks of columns. A block is eliminated row by row without square roots; its rows are scaled at the
end. As in `lu`, halving a large matrix spares the loop most of its work.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.complex import conjugate
from torch_neuronx.lowering.kernels import prefers_kernel
from torch_neuronx.lowering.matrices import (
    adjoint,
    at,
    batched,
    diagonal,
    expanded,
    first_failure,
    identity,
    inverse_of_unit_lower,
    lower,
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

aten = torch.ops.aten

BLOCK, LOOP, HALVINGS = 32, 128, 1

UNCHECKED = "the program of a factorisation cannot raise LinAlgError"


def factor(a: Value) -> tuple[Value, Value]:
    """(L, LAPACK's info) of matrices [batch, n, n], whose lower triangles are read."""
    batch = a.shape[0]
    if not a.numel:
        return a, hlo.full((batch,), 0, torch.int32)
    strict = lower(a, strictly=True)
    real = hlo.convert(hlo.real(a) if a.dtype.is_complex else a, a.dtype)
    a = hlo.select(places(a.shape, 1) == places(a.shape, 2), real, strict + adjoint(strict))
    factored, pivots = _factored(a, HALVINGS)
    return lower(factored), first_failure(~(pivots > 0))


def _factored(a: Value, halvings: int) -> tuple[Value, Value]:
    """(L, of which the upper triangle means nothing, the pivots [batch, n]) of Hermitian `a`."""
    n = a.shape[1]
    if n <= BLOCK:
        rows, pivots = _block(a)
        return adjoint(_scaled(rows, pivots)), pivots
    if n > LOOP and halvings:
        return _halved(a, rounded_up(n // 2, BLOCK), halvings - 1)
    return _blocked(a)


def _halved(a: Value, half: int, halvings: int) -> tuple[Value, Value]:
    batch, n, _ = a.shape
    corner, right, below, rest = (
        hlo.slice(a, [0, i, j], [batch, i_end, j_end])
        for i, i_end in ((0, half), (half, n))
        for j, j_end in ((0, half), (half, n))
    )
    corner, first = _factored(corner, halvings)
    below = hlo.triangular_solve(
        corner, below, left=False, lower=True, unit=False, transpose="ADJOINT"
    )
    rest, second = _factored(rest - product(below, adjoint(below)), halvings)
    rows = [hlo.concat([corner, right], 2), hlo.concat([below, rest], 2)]
    return hlo.concat(rows, 1), hlo.concat([first, second], 1)


def _block(a: Value) -> tuple[Value, Value]:
    """Rows U with a = U* D^-1 U, D the diagonal of U: (U, its real diagonal [batch, n])."""
    batch, n, _ = a.shape

    def step(j, a):
        row = hlo.dynamic_slice(a, start(0, j, 0), (batch, 1, n))
        row = hlo.reshape(row, (batch, n))
        pivot = hlo.broadcast_to(hlo.dynamic_slice(row, start(0, j), (batch, 1)), row.shape)
        below = places(row.shape, 1) > at(j, row)
        ratio = hlo.select(below, conjugate(row) / pivot, zeros(row))
        return [j + 1, a - over_rows(ratio, a.shape) * over_columns(row, a.shape)]

    _, a = hlo.while_([hlo.number(0, torch.int32), a], lambda j, _: j < n, step)
    return a, _real_diagonal(a)


def _real_diagonal(a: Value) -> Value:
    on = diagonal(a)
    return hlo.real(on) if on.dtype.is_complex else on


def _scaled(rows: Value, pivots: Value) -> Value:
    roots = hlo.convert(hlo.sqrt(pivots), rows.dtype)
    return rows / over_rows(roots, rows.shape)


def _blocked(a: Value) -> tuple[Value, Value]:
    batch, n, _ = a.shape
    size = rounded_up(n, BLOCK)
    a = padded(a, size, size)
    if size > n:
        beyond = places(a.shape, 1) >= n
        a = hlo.select(beyond, identity(a.shape, a.dtype), a)

    def step(k, a, pivots):
        corner = hlo.dynamic_slice(a, start(0, k, k), (batch, BLOCK, BLOCK))
        rows, found = _block(corner)
        factored = lower(adjoint(_scaled(rows, found)))
        pivots = hlo.dynamic_update_slice(pivots, found, start(0, k))
        column = hlo.dynamic_slice(a, start(0, 0, k), (batch, size, BLOCK))
        below = places(column.shape, 1) >= at(k + BLOCK, column)
        solved = product(column, adjoint(_inverse(factored)))
        solved = hlo.select(below, solved, zeros(solved))
        a = a - product(solved, adjoint(solved))
        a = hlo.dynamic_update_slice(a, solved, start(0, 0, k))
        return [k + BLOCK, hlo.dynamic_update_slice(a, factored, start(0, k, k)), pivots]

    none = hlo.full((batch, size), 0, pivots_dtype(a.dtype))
    inits = [hlo.number(0, torch.int32), a, none]
    _, a, pivots = hlo.while_(inits, lambda k, *_: k < size, step)
    return hlo.slice(a, [0, 0, 0], [batch, n, n]), hlo.slice_dim(pivots, 1, 0, n)


def pivots_dtype(dtype: torch.dtype) -> torch.dtype:
    return dtype.to_real() if dtype.is_complex else dtype


def _inverse(x: Value) -> Value:
    """Of lower triangles: a unit triangle's inverse with its rows divided."""
    scale = diagonal(x)
    unit = unit_lower(x / over_columns(scale, x.shape))
    return inverse_of_unit_lower(unit) / over_rows(scale, x.shape)


@prefers_kernel(aten.linalg_cholesky_ex.default)
def _cholesky_ex(out, a, *, upper=False, check_errors=False):
    if check_errors:
        raise NotImplementedError(UNCHECKED)
    a = batched(a)
    factored, info = factor(adjoint(a) if upper else a)
    factored = adjoint(factored) if upper else factored
    return hlo.reshape(factored, out[0].shape), hlo.reshape(info, out[1].shape)


def _solved(factored: Value, b: Value, upper: bool) -> Value:
    """x with L L* x = b, or with U* U x = b."""
    for how in ("ADJOINT", "NO_TRANSPOSE") if upper else ("NO_TRANSPOSE", "ADJOINT"):
        b = hlo.triangular_solve(factored, b, left=True, lower=not upper, unit=False, transpose=how)
    return b


@prefers_kernel(aten.cholesky_solve.default)
@prefers_kernel(aten._cholesky_solve_helper.default)
def _cholesky_solve(out, b, factored, upper):
    if not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    lead = out.shape[:-2]
    factored, b = (batched(expanded(x, lead)) for x in (factored, b))
    return hlo.reshape(_solved(factored, b, upper), out.shape)
