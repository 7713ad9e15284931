"""Movement of elements without arithmetic: reshape, slice, pad, concat. Called by every rule."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

import torch

from torch_neuronx.lowering.hlo.bindings import int_array, mlir, require, tensor_type
from torch_neuronx.lowering.hlo.create import Number, number
from torch_neuronx.lowering.value import Value

Shape = Sequence[int]


def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` as a non-negative dimension; a 0-d tensor counts as 1-d. Raises PyTorch's IndexError,
    which not every meta kernel does.
    """
    size = builtins.max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim % size


def broadcast_in_dim(x: Value, shape: Shape, dims: Sequence[int]) -> Value:
    """Dimension i of `x` becomes dimension dims[i] of the result; size 1 is repeated."""
    shape = tuple(shape)
    kind = tensor_type(shape, x.dtype)
    op = mlir().stablehlo.broadcast_in_dim
    return Value(op(kind, x.ir, int_array(dims)), shape, x.dtype)


def broadcast_to(x: Value, shape: Shape) -> Value:
    """PyTorch's expand: dimensions align at the right."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    lead = len(shape) - x.ndim
    fits = lead >= 0 and all(a in (1, b) for a, b in zip(x.shape, shape[lead:], strict=True))
    require(fits, f"cannot broadcast {x} to {list(shape)}")
    return broadcast_in_dim(x, shape, range(lead, len(shape)))


def reshape(x: Value, shape: Shape) -> Value:
    """Row-major reshape; one dimension may be -1."""
    shape = tuple(shape)
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape = tuple(x.numel // builtins.max(known, 1) if n == -1 else n for n in shape)
    if x.shape == shape:
        return x
    require(math.prod(shape) == x.numel, f"cannot reshape {x} to {list(shape)}")
    return Value(mlir().stablehlo.reshape(tensor_type(shape, x.dtype), x.ir), shape, x.dtype)


def expand_dims(x: Value, *dims: int) -> Value:
    """Inserts dimensions of size 1 so that they are at `dims` of the result."""
    rank = x.ndim + len(dims)
    at = {d % rank for d in dims}
    rest = iter(x.shape)
    return reshape(x, tuple(1 if d in at else next(rest) for d in range(rank)))


def transpose(x: Value, perm: Sequence[int]) -> Value:
    """Dimension i of the result is dimension perm[i] of `x`."""
    perm = [wrap_dim(p, x.ndim) for p in perm]
    if perm == list(range(x.ndim)):
        return x
    shape = tuple(x.shape[p] for p in perm)
    return Value(mlir().stablehlo.transpose(x.ir, int_array(perm)), shape, x.dtype)


def transposed_from(x: Value) -> Value | None:
    """The matrix whose transposition `x` is, when the program says so; None when it does not."""
    producer = x.ir.owner
    if x.ndim != 2 or getattr(producer, "name", None) != "stablehlo.transpose":
        return None
    return Value(producer.operands[0], (x.shape[1], x.shape[0]), x.dtype)


def slice(
    x: Value, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int] | None = None
) -> Value:
    """x[starts[i]:limits[i]:steps[i]] in each dimension, all static and in range."""
    steps = list(steps) if steps is not None else [1] * x.ndim
    shape = tuple(
        builtins.max(0, -(-(b - a) // s)) for a, b, s in zip(starts, limits, steps, strict=True)
    )
    if shape == x.shape:
        return x
    op = mlir().stablehlo.slice
    return Value(op(x.ir, int_array(starts), int_array(limits), int_array(steps)), shape, x.dtype)


def slice_dim(x: Value, dim: int, start: int, limit: int, step: int = 1) -> Value:
    """x[..., start:limit:step, ...] in dimension `dim`."""
    dim %= x.ndim
    starts, limits, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[dim], limits[dim], steps[dim] = start, limit, step
    return slice(x, starts, limits, steps)


def dynamic_slice(x: Value, starts: Sequence[Value | int], sizes: Shape) -> Value:
    """A window of `sizes` at run-time `starts`, which are clamped so that it fits."""
    sizes = tuple(sizes)
    op = mlir().stablehlo.dynamic_slice
    return Value(op(x.ir, _starts(starts), int_array(sizes)), sizes, x.dtype)


def dynamic_update_slice(x: Value, update: Value, starts: Sequence[Value | int]) -> Value:
    """`x` with `update` written at run-time `starts`, which are clamped so that it fits."""
    require(x.dtype == update.dtype, f"cannot write {update} into {x}")
    op = mlir().stablehlo.dynamic_update_slice
    return Value(op(x.ir, update.ir, _starts(starts)), x.shape, x.dtype)


def pad(
    x: Value,
    value: Value | Number,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> Value:
    """Negative `low` and `high` cut; `interior` elements go between neighbours."""
    interior = list(interior) if interior is not None else [0] * x.ndim
    shape = tuple(
        a + n + b + builtins.max(0, n - 1) * i
        for n, a, b, i in zip(x.shape, low, high, interior, strict=True)
    )
    fill = number(value, x.dtype)
    op = mlir().stablehlo.pad
    result = op(x.ir, fill.ir, int_array(low), int_array(high), int_array(interior))
    return Value(result, shape, x.dtype)


def concat(xs: Sequence[Value], dim: int) -> Value:
    require(len({x.dtype for x in xs}) == 1, f"concat of different dtypes: {list(xs)}")
    if len(xs) == 1:
        return xs[0]
    dim %= xs[0].ndim
    shape = list(xs[0].shape)
    shape[dim] = sum(x.shape[dim] for x in xs)
    result = mlir().stablehlo.concatenate([x.ir for x in xs], dim)
    return Value(result, tuple(shape), xs[0].dtype)


def reverse(x: Value, dims: Sequence[int]) -> Value:
    if not dims:
        return x
    op = mlir().stablehlo.reverse
    return Value(op(x.ir, int_array([wrap_dim(d, x.ndim) for d in dims])), x.shape, x.dtype)


def _starts(starts: Sequence[Value | int]) -> list:
    dtypes = {s.dtype for s in starts if isinstance(s, Value)}
    dtype = dtypes.pop() if dtypes else torch.int32
    require(not dtypes, "the starts of a slice must have one dtype")
    return [(s if isinstance(s, Value) else number(s, dtype)).ir for s in starts]
