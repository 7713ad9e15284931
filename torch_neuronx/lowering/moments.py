"""Rules for variances, standard deviations and vector norms."""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number, operands, rule_for, where
from torch_neuronx.lowering.reduction import average, over, total
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def variance(x: Value, dims, correction, keepdim: bool) -> tuple[Value, Value]:
    """Variance (real) and mean over `dims`, in two passes: sum |x - mean|**2 / max(n -
    correction, 0).
    """
    mean = average(x, dims, keepdim=True)
    away = x - mean
    if x.dtype.is_complex:
        square = hlo.real(away) * hlo.real(away) + hlo.imag(away) * hlo.imag(away)
    else:
        square = away * away
    spread = total(square, dims, keepdim)
    count = float(math.prod(x.shape[d] for d in dims))
    freedom = hlo.max(count - number(1 if correction is None else correction, spread), 0.0)
    return spread / freedom, hlo.reshape(mean, spread.shape)


def _moments(spread):
    """The rules of var.correction and var_mean.correction, or of their square roots."""

    def alone(out, x, dim=None, *, correction=None, keepdim=False):
        x = _computed(x, out)
        return hlo.convert(spread(variance(x, over(x, dim), correction, keepdim)[0]), out.dtype)

    def with_mean(out, x, dim=None, *, correction=None, keepdim=False):
        x = _computed(x, out[1])
        var, mean = variance(x, over(x, dim), correction, keepdim)
        return hlo.convert(spread(var), out[0].dtype), hlo.convert(mean, out[1].dtype)

    return alone, with_mean


def _computed(x, out):
    return x if x.dtype.is_complex else hlo.convert(x, compute_dtype(out.dtype))


for _var, _var_mean, _spread in (
    (aten.var.correction, aten.var_mean.correction, lambda v: v),
    (aten.std.correction, aten.std_mean.correction, hlo.sqrt),
):
    _alone, _with_mean = _moments(_spread)
    rule_for(_var)(_alone)
    rule_for(_var_mean)(_with_mean)


# ---- norms -------------------------------------------------------------------------------------


def vector_norm(x: Value, order: float, dims, keepdim: bool = False) -> Value:
    """(sum |x|**order)**(1/order) with its limits: 0 counts, inf and -inf are the extremes."""
    size = hlo.abs(x)
    if math.isinf(order):
        return hlo.reduce(size, dims, "max" if order > 0 else "min", keepdim)
    if order == 0:
        return total(hlo.convert(size != 0, size.dtype), dims, keepdim)
    if order == 1:
        return total(size, dims, keepdim)
    if order == 2:
        return hlo.sqrt(total(size * size, dims, keepdim))
    return hlo.pow(total(hlo.pow(size, order), dims, keepdim), 1.0 / order)


def _widened(x, dtype):
    """`x` in the dtype its norm is computed in: `dtype` where given, at least float32."""
    return hlo.convert(x, compute_dtype(dtype or x.dtype))


@rule_for(aten.linalg_vector_norm.default, static=("ord",))
def linalg_vector_norm(out, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The order selects the formula, so it is part of the program."""
    x = _widened(x, dtype)
    return hlo.convert(vector_norm(x, float(ord), over(x, dim), keepdim), out.dtype)


@rule_for(
    aten.norm.Scalar,
    aten.norm.ScalarOpt_dim,
    aten.norm.ScalarOpt_dim_dtype,
    aten.norm.ScalarOpt_dtype,
    static=("p",),
)
def norm(out, x, p=2, dim=None, keepdim=False, *, dtype=None):
    return linalg_vector_norm(out, x, 2 if p is None else p, dim, keepdim, dtype=dtype)


@rule_for(aten.dist.default, static=("p",))
def dist(out, x, y, p=2):
    away = _computed(x, out) - _computed(y, out)
    return hlo.convert(vector_norm(away, float(p), range(away.ndim)), out.dtype)


@rule_for(aten.renorm.default, static=("p",))
def renorm(out, x, p, dim, maxnorm):
    """Slices along `dim` scaled down to `maxnorm`, as maxnorm / (norm + 1e-7)."""
    (x,) = operands(out, x)
    others = [d for d in range(x.ndim) if d != hlo.wrap_dim(dim, x.ndim)]
    size = vector_norm(x, float(p), others, keepdim=True)
    limit = number(maxnorm, size)
    factor = where(size > limit, limit / (size + 1e-7), number(1, size))
    return hlo.convert(x * hlo.convert(factor, x.dtype), out.dtype)


@rule_for(aten.linalg__powsum.default, static=("ord",))
def powsum(out, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """sum |x|**ord: a vector norm before its root."""
    size = hlo.abs(_widened(x, dtype))
    power = size * size if ord == 2 else hlo.pow(size, float(ord))
    return hlo.convert(total(power, over(x, dim), keepdim), out.dtype)
