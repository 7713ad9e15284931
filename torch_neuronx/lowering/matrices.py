"""What the rules of linear algebra share: batches of matrices as [batch, rows, columns].

Not a home for rules. `lu`, `cholesky`, `householder`, `triangular` and `matrix_exp` call these
helpers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.complex import conjugate
from torch_neuronx.lowering.value import Value


def batched(x: Value) -> Value:
    """[*, m, n] as [batch, m, n]."""
    return hlo.reshape(x, (math.prod(x.shape[:-2]), *x.shape[-2:]))


def vectors(x: Value) -> Value:
    """[*, n] as [batch, n]."""
    return hlo.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def expanded(x: Value, lead: Sequence[int], tail: int = 2) -> Value:
    """`x` with its dimensions before the last `tail` broadcast to `lead`."""
    return hlo.broadcast_to(x, (*lead, *x.shape[x.ndim - tail :]))


def product(x: Value, y: Value) -> Value:
    return hlo.dot_general(x, y, batch=([0], [0]), contract=([2], [1]))


def flipped(x: Value) -> Value:
    """The transpose of each matrix."""
    return hlo.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def adjoint(x: Value) -> Value:
    return flipped(conjugate(x))


def over_rows(v: Value, shape: Sequence[int]) -> Value:
    """[batch, m] for every column: element [b, i, j] is v[b, i]."""
    return hlo.broadcast_in_dim(v, shape, [0, 1])


def over_columns(v: Value, shape: Sequence[int]) -> Value:
    """[batch, n] for every row: element [b, i, j] is v[b, j]."""
    return hlo.broadcast_in_dim(v, shape, [0, 2])


def zeros(like: Value) -> Value:
    return hlo.full(like.shape, 0, like.dtype)


def places(shape: Sequence[int], dim: int) -> Value:
    return hlo.iota(tuple(shape), dim, torch.int32)


def at(i: Value | int, x: Value) -> Value:
    """A position, a number of the loop, beside `places` of the shape of `x`."""
    return hlo.full(x.shape, i, torch.int32)


def diagonal(x: Value) -> Value:
    """[batch, min(m, n)]."""
    size = min(x.shape[-2:])
    x = hlo.slice(x, [0, 0, 0], [x.shape[0], size, size])
    on = places(x.shape, 1) == places(x.shape, 2)
    return hlo.reduce(hlo.select(on, x, zeros(x)), [1], "add")


def identity(shape: Sequence[int], dtype: torch.dtype) -> Value:
    return hlo.convert(places(shape, 1) == places(shape, 2), dtype)


def lower(x: Value, *, strictly: bool = False) -> Value:
    rows, columns = places(x.shape, 1), places(x.shape, 2)
    return hlo.select(rows > columns if strictly else rows >= columns, x, zeros(x))


def upper(x: Value) -> Value:
    return hlo.select(places(x.shape, 1) <= places(x.shape, 2), x, zeros(x))


def unit_lower(x: Value) -> Value:
    """Its lower triangle with ones on the diagonal."""
    return lower(x, strictly=True) + identity(x.shape, x.dtype)


def inverse_of_unit_lower(x: Value) -> Value:
    """By doubling: the inverses of the diagonal blocks of one size give those of twice the size.

    Unlike a sum of powers it loses nothing where the powers are large and the inverse is small.
    """
    inverse, size = identity(x.shape, x.dtype), 1
    rows, columns = places(x.shape, 1), places(x.shape, 2)
    while size < x.shape[1]:
        twice = 2 * size
        below = hlo.compare(hlo.div(rows, twice), hlo.div(columns, twice), "EQ")
        below = below & (hlo.rem(rows, twice) >= size) & (hlo.rem(columns, twice) < size)
        corner = hlo.select(below, x, zeros(x))
        inverse = inverse - product(product(inverse, corner), inverse)
        size = twice
    return inverse


def start(*positions: Value | int) -> list[Value]:
    """Where a dynamic slice begins; plain numbers become the loop's int32."""
    return [p if isinstance(p, Value) else hlo.number(p, torch.int32) for p in positions]


def rounded_up(size: int, block: int) -> int:
    return -(-size // block) * block


def padded(x: Value, rows: int, columns: int) -> Value:
    """With rows and columns of zeros at the end, up to these sizes."""
    high = [0, rows - x.shape[1], columns - x.shape[2]]
    return hlo.pad(x, 0, [0, 0, 0], high) if any(high) else x


def first_failure(failed: Value) -> Value:
    """LAPACK's info: 1 + the first true position of bool [batch, n], 0 without one."""
    count = failed.shape[1]
    if not count:
        return hlo.full(failed.shape[:1], 0, torch.int32)
    position = hlo.select(failed, places(failed.shape, 1) + 1, count + 1)
    first = hlo.reduce(position, [1], "min")
    return hlo.select(first > count, 0, first)
