"""Rules for products of matrices and vectors.

float32 is computed at full precision; bfloat16 and float16 accumulate in float32 and round once;
integers are exact modulo their width. dot_general contracts whichever dimension is wanted:
nothing is transposed here. Scaled and quantized products are in `scaled_matmul`.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.activation import gelu
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.complex import conjugate
from torch_neuronx.lowering.elementwise import number, operands, rule_for, where
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def product(x: Value, y: Value, dtype: torch.dtype | None = None) -> Value:
    """The matrix product over the last dimension of x and the first free one of y, in `dtype`.

    Vectors are taken as they are; leading dimensions beyond two are a batch. `dtype` defaults to
    the operands' compute dtype.
    """
    dtype = dtype or compute_dtype(x.dtype)
    if x.dtype == torch.bool:
        x, y = (hlo.convert(v, dtype) for v in (x, y))
    batch = list(range(max(x.ndim, y.ndim) - 2)) if x.ndim > 2 else []
    inner = y.ndim - 2 if y.ndim > 1 else 0
    if x.shape[-1] == 0:
        return hlo.full(x.shape[:-1] + y.shape[inner + 1 :], 0, dtype)
    return hlo.dot_general(
        x, y, batch=(batch, batch), contract=([x.ndim - 1], [inner]), out_dtype=dtype
    )


@rule_for(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)
def mm(out, x, y):
    return hlo.convert(product(x, y), out.dtype)


@rule_for(aten.mm.dtype, aten.bmm.dtype)
def mm_dtype(out, x, y, out_dtype):
    return hlo.convert(product(x, y, torch.promote_types(out_dtype, torch.float32)), out.dtype)


@rule_for(aten.vdot.default)
def vdot(out, x, y):
    return hlo.convert(product(conjugate(x), y), out.dtype)


@rule_for(aten._compute_linear_combination.default)
def linear_combination(out, x, coefficients):
    """Sums of the slices of x along dimension 0, one per row of coefficients."""
    flat = hlo.reshape(x, (x.shape[0], -1)) if x.numel else hlo.full((x.shape[0], 0), 0, x.dtype)
    return hlo.convert(hlo.reshape(product(coefficients, flat), out.shape), out.dtype)


@rule_for(aten._int_mm.default)
def int_mm(out, x, y):
    return product(x, y, torch.int32)


def mixed(out, x, matrix, beta, alpha) -> Value:
    """beta * x + alpha * matrix; a beta of 0 ignores x, NaN and infinities included (BLAS)."""
    dtype = compute_dtype(out.dtype)
    matrix = _times(hlo.convert(matrix, dtype), alpha)
    if not isinstance(beta, Value) and beta == 0:
        return hlo.convert(matrix, out.dtype)
    (x,) = operands(out, x)
    kept = _times(x, beta)
    if isinstance(beta, Value):
        kept = where(hlo.broadcast_to(number(beta, x) == 0, x.shape), 0, kept)
    return hlo.convert(kept + matrix, out.dtype)


def _times(x: Value, factor) -> Value:
    if not isinstance(factor, Value) and factor == 1:
        return x
    return x * number(factor, x)


@rule_for(aten.addmm.default, aten.addmv.default, aten.baddbmm.default)
def addmm(out, x, a, b, *, beta=1, alpha=1):
    return mixed(out, x, product(a, b), beta, alpha)


@rule_for(aten.addmm.dtype, aten.baddbmm.dtype)
def addmm_dtype(out, x, a, b, out_dtype, *, beta=1, alpha=1):
    return mixed(out, x, product(a, b), beta, alpha)


@rule_for(aten.addbmm.default)
def addbmm(out, x, a, b, *, beta=1, alpha=1):
    """The batch is one more dimension to contract."""
    dtype = compute_dtype(a.dtype)
    matrix = hlo.dot_general(a, b, contract=([0, 2], [0, 1]), out_dtype=dtype)
    return mixed(out, x, matrix, beta, alpha)


@rule_for(aten.addr.default)
def addr(out, x, a, b, *, beta=1, alpha=1):
    a, b = hlo.reshape(a, (-1, 1)), hlo.reshape(b, (1, -1))
    return mixed(out, x, hlo.mul(*operands(out, a, b)), beta, alpha)


@rule_for(aten._addmm_activation.default)
def addmm_activation(out, x, a, b, *, beta=1, alpha=1, use_gelu=False):
    result = addmm(out, x, a, b, beta=beta, alpha=alpha)
    return gelu(out, result) if use_gelu else hlo.max(result, 0)
