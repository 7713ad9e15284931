"""Reductions, windows and sorts. Called by the rules of sums, extrema, pooling, scans, sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch_neuronx.lowering.hlo.bindings import int_array, mlir, pairs, tensor_type
from torch_neuronx.lowering.hlo.control import fill_region
from torch_neuronx.lowering.hlo.create import Number, number
from torch_neuronx.lowering.hlo.shape import reshape, wrap_dim
from torch_neuronx.lowering.value import LoweringError, Value

Body = Callable[..., Value | Sequence[Value]]


def identity(kind: str, dtype: torch.dtype) -> Number:
    """The neutral element of `kind`: add, mul, max, min, and, or."""
    if kind in ("add", "or"):
        return 0
    if kind in ("mul", "and"):
        return 1 if kind == "mul" or dtype == torch.bool else -1
    if dtype == torch.bool:
        return kind == "min"
    if dtype.is_floating_point:
        return -math.inf if kind == "max" else math.inf
    info = torch.iinfo(dtype)
    return info.min if kind == "max" else info.max


def combine(kind: str, a: Value, b: Value) -> Value:
    """The binary op that `kind` (as in `reduce`) folds with."""
    from torch_neuronx.lowering.hlo import binary

    ops = {"add": "add", "mul": "mul", "max": "max", "min": "min", "and": "and_", "or": "or_"}
    if kind not in ops:
        raise LoweringError(f"reduce has no kind {kind!r}")
    return getattr(binary, ops[kind])(a, b)


def reduce(
    x: Value,
    dims: Sequence[int] | None,
    kind: str,
    keepdim: bool = False,
    acc_dtype: torch.dtype | None = None,
) -> Value:
    """Folds `dims` (None: all) with add, mul, max, min, and, or. NaN propagates in max and min.

    With `acc_dtype` the elements are converted first and the result keeps that dtype.
    """
    from torch_neuronx.lowering.hlo.cast import convert

    x = x if acc_dtype is None else convert(x, acc_dtype)
    over = sorted({wrap_dim(d, x.ndim) for d in dims}) if dims is not None else list(range(x.ndim))
    kept = tuple(1 if d in over else n for d, n in enumerate(x.shape))
    if over:
        init = number(identity(kind, x.dtype), x.dtype)
        (x,) = variadic_reduce([x], [init], over, lambda a, b: combine(kind, a, b))
    return reshape(x, kept) if keepdim else x


def variadic_reduce(
    xs: Sequence[Value], inits: Sequence[Value], dims: Sequence[int], body: Body
) -> list[Value]:
    """Folds several values of one shape together: body(a0, .., an, b0, .., bn) -> (c0, .., cn)."""
    over = {wrap_dim(d, xs[0].ndim) for d in dims}
    shape = tuple(n for d, n in enumerate(xs[0].shape) if d not in over)
    kinds = [tensor_type(shape, x.dtype) for x in xs]
    op = mlir().stablehlo.ReduceOp(
        kinds, [x.ir for x in xs], [i.ir for i in inits], int_array(sorted(over))
    )
    scalars = [((), i.dtype) for i in inits]
    fill_region(op.regions[0], scalars + scalars, body)
    return _results(op, [(shape, x.dtype) for x in xs])


def reduce_window(
    x: Value,
    kind: str,
    window: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
    init: Number | Value | None = None,
) -> Value:
    """`reduce` of every window; every sequence has one entry per dimension of `x`."""
    start = number(identity(kind, x.dtype) if init is None else init, x.dtype)
    (result,) = variadic_reduce_window(
        [x],
        [start],
        lambda a, b: combine(kind, a, b),
        window,
        strides,
        padding,
        base_dilation,
        window_dilation,
    )
    return result


def variadic_reduce_window(
    xs: Sequence[Value],
    inits: Sequence[Value],
    body: Body,
    window: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> list[Value]:
    """Several values of one shape folded window by window with `body`, as in `variadic_reduce`."""
    ones = [1] * xs[0].ndim
    strides, base, wide = strides or ones, base_dilation or ones, window_dilation or ones
    pad = padding if padding is not None else [(0, 0)] * xs[0].ndim
    shape = tuple(
        _windows(n, w, s, p, b, d)
        for n, w, s, p, b, d in zip(xs[0].shape, window, strides, pad, base, wide, strict=True)
    )
    op = mlir().stablehlo.ReduceWindowOp(
        [tensor_type(shape, x.dtype) for x in xs],
        [x.ir for x in xs],
        [i.ir for i in inits],
        int_array(window),
        window_strides=int_array(strides),
        base_dilations=int_array(base),
        window_dilations=int_array(wide),
        padding=pairs(pad),
    )
    scalars = [((), i.dtype) for i in inits]
    fill_region(op.regions[0], scalars + scalars, body)
    return _results(op, [(shape, x.dtype) for x in xs])


def select_and_scatter(
    x: Value,
    source: Value,
    init: Number | Value,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    direction: str = "GE",
    kind: str = "add",
) -> Value:
    """Scatters each element of `source` to its window's selected element of `x`, folding `kind`."""
    from torch_neuronx.lowering.hlo.binary import compare

    op = mlir().stablehlo.SelectAndScatterOp(
        tensor_type(x.shape, x.dtype),
        x.ir,
        source.ir,
        number(init, x.dtype).ir,
        window_dimensions=int_array(window),
        window_strides=int_array(strides),
        padding=pairs(padding),
    )
    scalars = [((), x.dtype), ((), x.dtype)]
    fill_region(op.regions[0], scalars, lambda a, b: compare(a, b, direction))
    fill_region(op.regions[1], scalars, lambda a, b: combine(kind, a, b))
    return _results(op, [(x.shape, x.dtype)])[0]


def sort(xs: Sequence[Value], dim: int, comparator: Body, stable: bool = True) -> list[Value]:
    """Sorts values of one shape together: comparator(a0, b0, .., an, bn) is bool "a before b"."""
    op = mlir().stablehlo.SortOp(
        [tensor_type(x.shape, x.dtype) for x in xs],
        [x.ir for x in xs],
        dimension=wrap_dim(dim, xs[0].ndim),
        is_stable=stable,
    )
    arguments = [((), x.dtype) for x in xs for _ in "ab"]
    fill_region(op.regions[0], arguments, comparator)
    return _results(op, [(x.shape, x.dtype) for x in xs])


def top_k(x: Value, k: int) -> tuple[Value, Value]:
    """The `k` largest of the last dimension, descending, and their int32 indices."""
    values, indices = mlir().chlo.top_k(x.ir, k)
    shape = x.shape[:-1] + (k,)
    return Value(values, shape, x.dtype), Value(indices, shape, torch.int32)


def _windows(
    size: int, window: int, stride: int, pad: tuple[int, int], base: int, wide: int
) -> int:
    padded = (size - 1) * base + 1 if size else 0
    padded += pad[0] + pad[1]
    extent = (window - 1) * wide + 1
    return 0 if padded < extent else (padded - extent) // stride + 1


def _results(op: Any, kinds: Sequence[tuple[tuple[int, ...], torch.dtype]]) -> list[Value]:
    return [Value(r, shape, dtype) for r, (shape, dtype) in zip(op.results, kinds, strict=True)]
