"""Rules that fold dimensions with a sum, a product or a logical test, and means.

Reductions that choose an element (max, argmax, median) are in `extremum`, running ones in `scan`,
variances and norms in `moments`. bfloat16 and float16 accumulate in float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from torch_neuronx.lowering import complex_functions, hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import is_nan, number, quotient, rule_for, where
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

# Longest run of floats summed one after another: it bounds the error to about RUN * eps / 2.
RUN = 512


def over(x: Value, dim: int | Sequence[int] | None) -> list[int]:
    """The dimensions an ATen `dim` argument names: None and [] are all of them."""
    if isinstance(dim, int):
        dim = [dim]
    if not x.ndim:
        return []
    return sorted({hlo.wrap_dim(d, x.ndim) for d in dim}) if dim else list(range(x.ndim))


def total(x: Value, dims: Sequence[int], keepdim: bool = False) -> Value:
    """The sum over `dims`, long runs of floats in pieces so that rounding does not build up.

    PyTorch's cascade sum serves the same end; a plain loop in float32 stops at 2**24 ones.
    """
    count = math.prod(x.shape[d] for d in dims)
    if count <= RUN or not (x.dtype.is_floating_point or x.dtype.is_complex):
        return hlo.reduce(x, dims, "add", keepdim=keepdim)
    kept = tuple(1 if d in dims else n for d, n in enumerate(x.shape))
    shape = kept if keepdim else tuple(n for d, n in enumerate(x.shape) if d not in dims)
    for d in dims:
        x = _piecewise(x, d)
    return hlo.reshape(x, shape)


def _piecewise(x: Value, dim: int) -> Value:
    """Sums `dim` (kept as size 1) as [pieces, RUN]: first over the pieces, lane by lane, then
    lanes.
    """
    size = x.shape[dim]
    while size > RUN:
        pieces = min(-(-size // RUN), RUN)
        lanes = -(-size // pieces)
        x = _padded(x, dim, pieces * lanes)
        split = x.shape[:dim] + (pieces, lanes) + x.shape[dim + 1 :]
        x = hlo.reduce(hlo.reshape(x, split), [dim], "add")
        size = lanes
    return hlo.reduce(x, [dim], "add", keepdim=True)


def _padded(x: Value, dim: int, size: int) -> Value:
    high = [0] * x.ndim
    high[dim] = size - x.shape[dim]
    return hlo.pad(x, 0, [0] * x.ndim, high) if high[dim] else x


@rule_for(aten.sum.default, aten.sum.dim_IntList)
def sum_(out, x, dim=None, keepdim=False, *, dtype=None):
    x = hlo.convert(x, compute_dtype(out.dtype))
    return hlo.convert(total(x, over(x, dim), keepdim), out.dtype)


@rule_for(aten.nansum.default)
def nansum(out, x, dim=None, keepdim=False, *, dtype=None):
    x = hlo.convert(x, compute_dtype(out.dtype))
    return hlo.convert(total(where(is_nan(x), 0, x), over(x, dim), keepdim), out.dtype)


@rule_for(aten.mean.default, aten.mean.dim)
def mean(out, x, dim=None, keepdim=False, *, dtype=None):
    x = hlo.convert(x, compute_dtype(out.dtype))
    return hlo.convert(average(x, over(x, dim), keepdim), out.dtype)


def average(x: Value, dims: Sequence[int], keepdim: bool = False) -> Value:
    """The mean over `dims`; NaN of nothing."""
    count = float(math.prod(x.shape[d] for d in dims))
    sums = total(x, dims, keepdim)
    return quotient(sums, number(count, sums))


@rule_for(aten.prod.default, aten.prod.dim_int)
def prod(out, x, dim=None, keepdim=False, *, dtype=None):
    x = hlo.convert(x, compute_dtype(out.dtype))
    return hlo.convert(hlo.reduce(x, over(x, dim), "mul", keepdim), out.dtype)


def _test(kind: str):
    def rule(out, x, dim=None, keepdim=False):
        dims = [] if dim == [] else over(x, dim)
        return hlo.convert(hlo.reduce(hlo.convert(x, torch.bool), dims, kind, keepdim), out.dtype)

    return rule


rule_for(aten.any.default, aten.any.dim, aten.any.dims, aten._is_any_true.default)(_test("or"))
rule_for(aten.all.default, aten.all.dim, aten.all.dims, aten._is_all_true.default)(_test("and"))


@rule_for(aten.count_nonzero.default, aten.count_nonzero.dim_IntList)
def count_nonzero(out, x, dim=None):
    hits = hlo.convert(hlo.convert(x, torch.bool), torch.int64)
    return hlo.reduce(hits, over(x, dim), "add")


@rule_for(aten.logsumexp.default)
def logsumexp(out, x, dim, keepdim=False):
    """log(sum(exp(x - m))) + m with m the largest element, or 0 where that is infinite."""
    x = hlo.convert(x, compute_dtype(out.dtype))
    dims = over(x, dim)
    top = hlo.reduce(hlo.real(x), dims, "max", keepdim=True)
    top = where(hlo.abs(top) == math.inf, 0, top)
    top = hlo.convert(top, x.dtype)
    size = total(complex_functions.exp(x - top), dims, keepdim=True)
    result = complex_functions.log(size) + top
    return hlo.reshape(hlo.convert(result, out.dtype), out.shape)


@rule_for(aten.trace.default)
def trace(out, x):
    rows, columns = (hlo.iota(x.shape, d, torch.int32) for d in (0, 1))
    return hlo.reduce(where(rows == columns, hlo.convert(x, out.dtype), 0), [0, 1], "add")
