"""Rules of what an LU factorisation gives: the factors, solutions, inverses and determinants.

LAPACK's are several times faster; the programs here serve where a program cannot call those.
Of a contiguous real matrix, determinants factor the transpose, as in ATen: their gradients are
computed from the factors.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import any_true
from torch_neuronx.lowering.cholesky import UNCHECKED
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.kernels import call, prefers_kernel
from torch_neuronx.lowering.layout import is_contiguous
from torch_neuronx.lowering.lu import Factors, factor, swaps, take_rows
from torch_neuronx.lowering.matrices import adjoint as conjugated
from torch_neuronx.lowering.matrices import (
    batched,
    diagonal,
    expanded,
    first_failure,
    flipped,
    identity,
    places,
    unit_lower,
    upper,
    vectors,
)
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value
from torch_neuronx.runtime import platforms

aten = torch.ops.aten


def is_transposed(a: Value) -> bool:
    """Whether ATen's determinants factor the transpose of `a`."""
    if a.dtype.is_complex:
        return False
    if a.strides is None:
        raise NotImplementedError("which matrix is factored depends on strides, which are unknown")
    return is_contiguous(a.shape, a.strides)


def _as_factored(a: Value) -> Value:
    """`a` as a tensor that is contiguous exactly if the tensor it stands for is."""
    order = list(range(a.ndim))
    if not is_transposed(a):
        order[-2:] = order[-1], order[-2]
    strides, step = [0] * a.ndim, 1
    for d in reversed(order):
        strides[d], step = step, step * a.shape[d]
    return a.seen(tuple(strides))


def _factored(a: Value, transposed: bool = False) -> Factors:
    a = batched(a)
    return factor(flipped(a) if transposed else a)


def _info(factors: Factors) -> Value:
    return first_failure(diagonal(factors.lu) == 0)


def _placed(out, *values: Value | None) -> tuple[Value | None, ...]:
    return tuple(
        None if v is None else hlo.reshape(hlo.convert(v, m.dtype), m.shape)
        for v, m in zip(values, out, strict=True)
    )


# ---- factors -----------------------------------------------------------------------------------


@prefers_kernel(aten.linalg_lu_factor_ex.default)
def _lu_factor_ex(out, a, *, pivot=True, check_errors=False):
    if check_errors:
        raise NotImplementedError(UNCHECKED)
    if not pivot:
        raise NotImplementedError("without pivoting there is no CPU kernel to agree with")
    factors = _factored(a)
    return _placed(out, factors.lu, factors.pivots + 1, _info(factors))


@prefers_kernel(aten.linalg_lu.default)
def _lu(out, a, *, pivot=True):
    if not pivot:
        raise NotImplementedError("without pivoting there is no CPU kernel to agree with")
    factors = _factored(a)
    return _placed(out, *_unpacked(factors.lu, factors.order))


@lowers(aten.lu_unpack.default)
def _lu_unpack(out, lu, pivots, unpack_data=True, unpack_pivots=True):
    rows = lu.shape[-2]
    lu, order = batched(lu), None
    if unpack_pivots:
        pivots = vectors(pivots)
        bad = (pivots < 1) | (pivots > rows)
        check(
            any_true(bad),
            "RuntimeError",
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?",
        )
        order = swaps(pivots - 1, rows)
    permutation, left, right = _unpacked(lu, order)
    empty = hlo.full((0,), 0, lu.dtype)
    if not unpack_data:
        left = right = empty
    return _placed(out, empty if permutation is None else permutation, left, right)


def _unpacked(lu: Value, order: Value | None) -> tuple[Value | None, Value, Value]:
    """(P, L, U): P[order[i], i] is one."""
    batch, m, n = lu.shape
    count = min(m, n)
    left = unit_lower(hlo.slice(lu, [0, 0, 0], [batch, m, count]))
    right = upper(hlo.slice(lu, [0, 0, 0], [batch, count, n]))
    if order is None:
        return None, left, right
    shape = (batch, m, m)
    here = places(shape, 1) == hlo.broadcast_in_dim(order, shape, [0, 2])
    return hlo.convert(here, lu.dtype), left, right


# ---- solutions ---------------------------------------------------------------------------------


def _solve(lu: Value, order: Value, b: Value, transposed: str = "") -> Value:
    """x with a x = b for the `a` that was factored, or with its "TRANSPOSE" or "ADJOINT"."""

    def half(x: Value, *, of_l: bool) -> Value:
        how = transposed or "NO_TRANSPOSE"
        return hlo.triangular_solve(lu, x, left=True, lower=of_l, unit=of_l, transpose=how)

    if not transposed:
        return half(half(take_rows(b, order), of_l=True), of_l=False)
    x = half(half(b, of_l=False), of_l=True)
    return take_rows(x, _inverted(order))


def _inverted(order: Value) -> Value:
    """The order that undoes `order`."""
    batch, n = order.shape
    shape = (batch, n, n)
    here = hlo.broadcast_in_dim(order, shape, [0, 2]) == places(shape, 1)
    return hlo.reduce(hlo.select(here, places(shape, 2), 0), [2], "add")


@prefers_kernel(aten._linalg_solve_ex.default)
def _solve_ex(out, a, b, *, left=True, check_errors=False):
    if check_errors:
        raise NotImplementedError(UNCHECKED)
    factors = _factored(a)
    result = _applied(out[0], factors.lu, factors.order, b, a.shape, left)
    return _placed(out, result, factors.lu, factors.pivots + 1, _info(factors))


def _applied(out, lu: Value, order: Value, b: Value, of_a, left: bool) -> Value:
    """The solution, of shape `out`, of a x = b or x a = b for an `a` of shape `of_a`."""
    if not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    is_vector = len(out.shape) == len(of_a) - 1
    if is_vector:
        b = hlo.expand_dims(b, b.ndim)
    lead = out.shape[:-1] if is_vector else out.shape[:-2]
    lu, order = _repeated(lu, of_a[:-2], lead), _repeated(order, of_a[:-2], lead)
    b = batched(expanded(b, lead))
    b = b if left else flipped(b)
    x = _solve(lu, order, b, "" if left else "TRANSPOSE")
    return hlo.reshape(x if left else flipped(x), out.shape)


def _repeated(x: Value, lead, wanted) -> Value:
    """A value of one matrix each of the batch `lead`, for each of the batch `wanted`."""
    tail = x.shape[1:]
    x = hlo.broadcast_to(hlo.reshape(x, (*lead, *tail)), (*wanted, *tail))
    return hlo.reshape(x, (math.prod(wanted), *tail))


@prefers_kernel(aten.linalg_lu_solve.default)
def _lu_solve(out, lu, pivots, b, *, left=True, adjoint=False):
    """`adjoint`: of the adjoint of the matrix that was factored."""
    if not out.numel:
        return hlo.full(out.shape, 0, out.dtype)
    order = swaps(vectors(pivots) - 1, lu.shape[-1])
    factors, lead = batched(lu), out.shape[:-2]
    factors = _repeated(factors, lu.shape[:-2], lead)
    order = _repeated(order, pivots.shape[:-1], lead)
    b = batched(expanded(b, lead))
    if left:
        x = _solve(factors, order, b, "ADJOINT" if adjoint else "")
    elif adjoint:  # x a* = b, so a x* = b*
        x = conjugated(_solve(factors, order, conjugated(b)))
    else:
        x = flipped(_solve(factors, order, flipped(b), "TRANSPOSE"))
    return hlo.reshape(x, out.shape)


@prefers_kernel(aten.linalg_inv_ex.default)
def _inv_ex(out, a, *, check_errors=False):
    if check_errors:
        raise NotImplementedError(UNCHECKED)
    factors = _factored(a)
    info = _info(factors)
    if not a.numel:
        return _placed(out, a, info)
    inverse = _solve(factors.lu, factors.order, identity(factors.lu.shape, a.dtype))
    return _placed(out, inverse, info)


# ---- determinants ------------------------------------------------------------------------------


def _sign(factors: Factors, dtype: torch.dtype) -> Value:
    """[batch]: of the permutation, -1 for an odd number of swaps."""
    moved = factors.pivots != places(factors.pivots.shape, 1)
    count = hlo.reduce(hlo.convert(moved, torch.int32), [1], "add")
    odd = hlo.rem(count, 2) == 1
    ones = hlo.full(odd.shape, 1, dtype)
    return hlo.select(odd, -ones, ones)


@lowers(aten._linalg_det.default)
def _det(out, a):
    if platforms.runs_kernels():
        return call(aten._linalg_det.default, out, _as_factored(a), may_fail=False)
    factors = _factored(a, is_transposed(a))
    result = hlo.reduce(diagonal(factors.lu), [1], "mul") * _sign(factors, a.dtype)
    return _placed(out, result, factors.lu, factors.pivots + 1)


@lowers(aten._linalg_slogdet.default)
def _slogdet(out, a):
    """-> (sign, log |det|, LU, pivots)."""
    if platforms.runs_kernels():
        return call(aten._linalg_slogdet.default, out, _as_factored(a), may_fail=False)
    factors = _factored(a, is_transposed(a))
    on = diagonal(factors.lu)
    sign = hlo.reduce(hlo.sign(on), [1], "mul") * _sign(factors, a.dtype)
    size = hlo.reduce(hlo.log(hlo.abs(on)), [1], "add")
    return _placed(out, sign, size, factors.lu, factors.pivots + 1)
