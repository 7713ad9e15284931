"""Programs about the values of a sparse tensor: sums over segments, products, lookups.

`values` is [nnz, ...], a row per entry; the terms are those of `index_programs`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.sparse.index_programs import find, keys, numbered, put, take
from torch_neuronx.sparse.program import program

aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)


def segment_sum(values: Tensor, segment: Tensor, count: int) -> Tensor:
    """[count, ...], accumulated in float32 where that is wider; of booleans, if any is true."""
    wide = _accumulator(values.dtype)
    total = torch.zeros((count, *values.shape[1:]), dtype=wide, device=values.device)
    return put(total, segment, values.to(wide), add=True).to(values.dtype)


def columns(indices: Tensor, at: Tensor) -> Tensor:
    return aten._unsafe_index(indices, [None, at])


def _accumulator(dtype: torch.dtype) -> torch.dtype:
    if dtype is torch.bool:
        return torch.int32
    return torch.float32 if dtype in _HALF else dtype


def segment_reduce(values: Tensor, segment: Tensor, count: int, how: str) -> Tensor:
    """[count, ...] by "amax", "amin" or "prod"; what no entry has is the reduction's identity."""
    identity = 1 if how == "prod" else _extreme(values.dtype, least=how == "amax")
    total = torch.full(
        (count, *values.shape[1:]), identity, dtype=values.dtype, device=values.device
    )
    index = segment.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    return total.scatter_reduce(0, index, values, how)


def _extreme(dtype: torch.dtype, *, least: bool) -> float | int:
    if dtype.is_floating_point:
        return -float("inf") if least else float("inf")
    info = torch.iinfo(dtype)
    return info.min if least else info.max


@program(
    "merge(Tensor indices, Tensor values, Tensor order, Tensor segment, int count)"
    " -> (Tensor, Tensor)"
)
def merge(
    indices: Tensor, values: Tensor, order: Tensor, segment: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Of each segment its place and the sum of its values; `order` and `segment` are sorted."""
    member = put(order.new_zeros(count), segment, order)
    return columns(indices, member), segment_sum(take(values, order), segment, count)


@program(
    "merge_by(Tensor indices, Tensor values, Tensor order, Tensor segment, int count, str how)"
    " -> (Tensor, Tensor)"
)
def merge_by(
    indices: Tensor, values: Tensor, order: Tensor, segment: Tensor, count: int, how: str
) -> tuple[Tensor, Tensor]:
    """`merge` with another reduction."""
    member = put(order.new_zeros(count), segment, order)
    return columns(indices, member), segment_reduce(take(values, order), segment, count, how)


@program("lookup(Tensor indices, Tensor values, Tensor at, int[] sizes) -> Tensor")
def lookup(indices: Tensor, values: Tensor, at: Tensor, sizes: list[int]) -> Tensor:
    """The values at the columns of `at`, zero where the sorted `indices` have no such column."""
    if indices.shape[1] == 0:
        return values.new_zeros((at.shape[1], *values.shape[1:]))
    position, found = find(indices, at, sizes)
    return torch.where(_column(found, values), take(values, position), 0)


def _column(x: Tensor, like: Tensor) -> Tensor:
    return x.view(-1, *[1] * (like.dim() - 1))


@program("gather_at(Tensor dense, Tensor at) -> Tensor")
def gather_at(dense: Tensor, at: Tensor) -> Tensor:
    """dense[at[0], at[1], ...]: a row per column of `at`."""
    if at.shape[0] == 0:
        return dense.expand(at.shape[1], *dense.shape).clone()
    return take(dense, *at)


@program("scatter_at(Tensor dense, Tensor at, Tensor values) -> Tensor")
def scatter_at(dense: Tensor, at: Tensor, values: Tensor) -> Tensor:
    """`dense` with each row of `values` added at its column of `at`."""
    sizes = list(dense.shape[: at.shape[0]])
    rows = dense.reshape(-1, *dense.shape[len(sizes) :]) if sizes else dense.unsqueeze(0)
    return put(rows, keys(at, sizes), values.to(dense.dtype), add=True).view(dense.shape)


@program("spmm(Tensor row, Tensor col, Tensor values, Tensor dense, int rows) -> Tensor")
def spmm(row: Tensor, col: Tensor, values: Tensor, dense: Tensor, rows: int) -> Tensor:
    """out[rows, n]: out[row] += values * dense[col], accumulated as in `segment_sum`."""
    wide = _accumulator(values.dtype)
    products = values.to(wide).unsqueeze(1) * take(dense, col).to(wide)
    return segment_sum(products, row, rows).to(values.dtype)


@program("sampled(Tensor at, Tensor left, Tensor right) -> Tensor")
def sampled(at: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """[nnz]: at each column (*batch, row, col), the product of left's row by right's column."""
    *batch, row, col = at
    wide = _accumulator(left.dtype)
    rows, others = take(left, *batch, row), take(right.transpose(-1, -2), *batch, col)
    return (rows.to(wide) * others.to(wide)).sum(-1).to(left.dtype)


@program("grouped_softmax(Tensor indices, Tensor values, int[] sizes, bool log) -> Tensor")
def grouped_softmax(indices: Tensor, values: Tensor, sizes: list[int], log: bool) -> Tensor:
    """Softmax among the entries with equal `indices`, those without the softmax's dimension."""
    group, count = _groups(indices, sizes), values.shape[0]
    shifted = values - take(segment_reduce(values, group, count, "amax"), group)
    weight = shifted.exp()
    total = take(segment_sum(weight, group, count), group)
    return shifted - total.log() if log else weight / total


@program(
    "grouped_softmax_backward(Tensor indices, Tensor grad, Tensor output, int[] sizes, bool log)"
    " -> Tensor"
)
def grouped_softmax_backward(
    indices: Tensor, grad: Tensor, output: Tensor, sizes: list[int], log: bool
) -> Tensor:
    group, count = _groups(indices, sizes), grad.shape[0]
    if log:
        return grad - output.exp() * take(segment_sum(grad, group, count), group)
    return output * (grad - take(segment_sum(grad * output, group, count), group))


def _groups(indices: Tensor, sizes: list[int]) -> Tensor:
    """The segment of each entry, in the entries' own order."""
    order, segment = numbered(keys(indices, sizes))
    return put(torch.zeros_like(segment), order, segment)


@program(
    "reduced_mm(Tensor indices, Tensor values, Tensor dense, int rows, str how) -> (Tensor, Tensor)"
)
def reduced_mm(
    indices: Tensor, values: Tensor, dense: Tensor, rows: int, how: str
) -> tuple[Tensor, Tensor]:
    """[rows, n] by "sum", "mean", "amax" or "amin" of values * dense[col], zero for an empty row;
    of amax and amin, which entry it was: the first such, or nnz."""
    row, col = indices
    nnz = values.shape[0]
    if how in ("sum", "mean"):
        total = spmm(row, col, values, dense, rows)
        if how == "mean":
            total = total / _per_row(row, rows).clamp(min=1).to(total.dtype).unsqueeze(1)
        return total, row.new_empty(0)
    products = values.unsqueeze(1) * take(dense, col)
    best = segment_reduce(products, row, rows, how)
    entry = torch.arange(nnz, device=row.device).unsqueeze(1)
    is_best = products == take(best, row)
    which = segment_reduce(torch.where(is_best, entry, nnz), row, rows, "amin").clamp(max=nnz)
    return torch.where(which == nnz, 0, best), which


def _per_row(row: Tensor, rows: int) -> Tensor:
    return put(row.new_zeros(rows), row, torch.ones_like(row), add=True)


@program(
    "reduced_mm_backward(Tensor indices, Tensor values, Tensor grad, Tensor dense, Tensor? which,"
    " str how) -> (Tensor, Tensor)"
)
def reduced_mm_backward(
    indices: Tensor, values: Tensor, grad: Tensor, dense: Tensor, which: Tensor | None, how: str
) -> tuple[Tensor, Tensor]:
    """The gradients of the values and of the dense matrix."""
    row, col = indices
    if how == "mean":
        grad = grad / _per_row(row, grad.shape[0]).clamp(min=1).to(grad.dtype).unsqueeze(1)
    given = take(grad, row)
    if which is not None:
        entry = torch.arange(values.shape[0], device=row.device).unsqueeze(1)
        given = torch.where(take(which, row) == entry, given, 0)
    of_values = (given * take(dense, col).conj()).sum(1)
    return of_values, segment_sum(given * values.conj().unsqueeze(1), col, dense.shape[0])
