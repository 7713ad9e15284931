"""Products of matrices and their kin: dot, convolution, FFT, Cholesky, triangular solve.

float32 products are at HIGHEST precision unless torch.set_float32_matmul_precision asks for less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_neuronx.lowering.hlo.bindings import int_array, mlir, pairs, tensor_type
from torch_neuronx.lowering.hlo.shape import reshape, transposed_from
from torch_neuronx.lowering.value import Value

_PRECISION = {"highest": "HIGHEST", "high": "HIGH", "medium": "DEFAULT"}
_SPECTRUM = {torch.float32: torch.complex64, torch.float64: torch.complex128}
_PART = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def dot_general(
    x: Value,
    y: Value,
    *,
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    contract: tuple[Sequence[int], Sequence[int]],
    out_dtype: torch.dtype | None = None,
) -> Value:
    """Result dimensions: batch, then the free ones of `x`, then the free ones of `y`.

    `batch` and `contract` are (dims of x, dims of y). `out_dtype` may be wider than the operands'.
    """
    dtype = out_dtype or x.dtype
    used_x, used_y = {*batch[0], *contract[0]}, {*batch[1], *contract[1]}
    shape = tuple(
        [x.shape[d] for d in batch[0]]
        + [n for d, n in enumerate(x.shape) if d not in used_x]
        + [n for d, n in enumerate(y.shape) if d not in used_y]
    )
    if not batch[0] and len(contract[0]) == 1:
        (at_x,), (at_y,) = contract
        if y.ndim == 2 and _is_vector(x, at_x):
            return reshape(_matrix_times_vector(y, at_y, x, dtype), shape)
        if x.ndim == 2 and _is_vector(y, at_y):
            return reshape(_matrix_times_vector(x, at_x, y, dtype), shape)
    return _dot_general(x, y, batch, contract, shape, dtype)


def _is_vector(x: Value, dim: int) -> bool:
    return all(n == 1 for d, n in enumerate(x.shape) if d != dim)


def _matrix_times_vector(matrix: Value, inner: int, vector: Value, dtype: torch.dtype) -> Value:
    """The sums over dimension `inner` of the matrix, as a vector.

    XLA:CPU is quick at a matrix times a vector where a row is summed, and at a vector times a
    matrix where a column is; the same product in the other order takes 10 to 80 times as long.
    So a transposition of the matrix, as of F.linear's weight, is looked through before choosing.
    """
    vector = reshape(vector, (-1,))
    source = transposed_from(matrix)
    if source is not None:
        matrix, inner = source, 1 - inner
    shape = (matrix.shape[1 - inner],)
    if inner == 1:
        return _dot_general(matrix, vector, ((), ()), ((1,), (0,)), shape, dtype)
    return _dot_general(vector, matrix, ((), ()), ((0,), (0,)), shape, dtype)


def _dot_general(
    x: Value,
    y: Value,
    batch: tuple[Sequence[int], Sequence[int]],
    contract: tuple[Sequence[int], Sequence[int]],
    shape: tuple[int, ...],
    dtype: torch.dtype,
) -> Value:
    numbers = mlir().stablehlo.DotDimensionNumbers.get(
        list(batch[0]), list(batch[1]), list(contract[0]), list(contract[1])
    )
    result = mlir().stablehlo.dot_general(
        tensor_type(shape, dtype), x.ir, y.ir, numbers, precision_config=_precision(x.dtype)
    )
    return Value(result, shape, dtype)


def convolution(
    x: Value,
    w: Value,
    *,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    groups: int = 1,
    batch_groups: int = 1,
    lhs_spec: Sequence[int] | None = None,
    rhs_spec: Sequence[int] | None = None,
    out_spec: Sequence[int] | None = None,
    reversal: Sequence[bool] | None = None,
    out_dtype: torch.dtype | None = None,
) -> Value:
    """Cross-correlation. Every spec lists which dimension of the operand plays which part:

    lhs_spec = (N, C, spatial...), rhs_spec = (O, I, spatial...), out_spec = (N, C, spatial...);
    the default of each is 0, 1, 2, ... as in PyTorch.
    """
    rank = x.ndim
    lhs, rhs, out = (list(s) if s else list(range(rank)) for s in (lhs_spec, rhs_spec, out_spec))
    left = list(lhs_dilation or [1] * (rank - 2))
    right = list(rhs_dilation or [1] * (rank - 2))
    dtype = out_dtype or x.dtype
    shape = [0] * rank
    shape[out[0]] = x.shape[lhs[0]] // batch_groups
    shape[out[1]] = w.shape[rhs[0]]
    for i in range(rank - 2):
        padded = _dilated(x.shape[lhs[2 + i]], left[i]) + sum(padding[i])
        window = _dilated(w.shape[rhs[2 + i]], right[i])
        shape[out[2 + i]] = max(0, (padded - window) // strides[i] + 1)
    numbers = mlir().stablehlo.ConvDimensionNumbers.get(
        lhs[0], lhs[1], lhs[2:], rhs[1], rhs[0], rhs[2:], out[0], out[1], out[2:]
    )
    result = mlir().stablehlo.convolution(
        tensor_type(tuple(shape), dtype),
        x.ir,
        w.ir,
        numbers,
        groups,
        batch_groups,
        window_strides=int_array(strides),
        padding=pairs(padding),
        lhs_dilation=int_array(left),
        rhs_dilation=int_array(right),
        window_reversal=_bools(reversal or [False] * (rank - 2)),
        precision_config=_precision(x.dtype),
    )
    return Value(result, tuple(shape), dtype)


def fft(x: Value, kind: str, lengths: Sequence[int]) -> Value:
    """FFT, IFFT, RFFT or IRFFT over the last len(lengths) dimensions; the inverses divide by n."""
    shape, dtype = list(x.shape), x.dtype
    if kind == "RFFT":
        shape[-1], dtype = lengths[-1] // 2 + 1, _SPECTRUM[x.dtype]
    if kind == "IRFFT":
        shape[-1], dtype = lengths[-1], _PART[x.dtype]
    attribute = mlir().stablehlo.FftTypeAttr.get(kind)
    result = mlir().stablehlo.fft(x.ir, attribute, int_array(lengths))
    return Value(result, tuple(shape), dtype)


def cholesky(x: Value, lower: bool = True) -> Value:
    """The other triangle is undefined; a matrix that is not positive definite gives NaN."""
    return Value(mlir().stablehlo.cholesky(x.ir, lower=lower), x.shape, x.dtype)


def triangular_solve(
    a: Value, b: Value, *, left: bool, lower: bool, unit: bool, transpose: str = "NO_TRANSPOSE"
) -> Value:
    """Solves op(a) x = b (left) or x op(a) = b; `transpose` is NO_TRANSPOSE, TRANSPOSE, ADJOINT."""
    how = mlir().stablehlo.TransposeAttr.get(transpose)
    result = mlir().stablehlo.triangular_solve(a.ir, b.ir, left, lower, unit, how)
    return Value(result, b.shape, b.dtype)


def _dilated(size: int, dilation: int) -> int:
    return 0 if size == 0 else (size - 1) * dilation + 1


def _precision(dtype: torch.dtype) -> Any:
    level = "HIGHEST"
    if dtype == torch.float32:
        level = _PRECISION[torch.get_float32_matmul_precision()]
    attribute = mlir().stablehlo.PrecisionAttr.get(level)
    return mlir().ir.ArrayAttr.get([attribute, attribute])


def _bools(values: Sequence[bool]) -> Any:
    return mlir().ir.DenseBoolArrayAttr.get([bool(v) for v in values])
