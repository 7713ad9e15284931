"""Layer, group and RMS normalisation with their gradients, and weight norm.

Everything is computed in float32 for bfloat16 and float16 and rounded once. Batch norm has a file
of its own; local response norm is PyTorch's own composite.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number
from torch_neuronx.lowering.reduction import total
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten


@lowers(aten.native_layer_norm.default, runtime=("eps",))
def layer_norm(out, x, normalized_shape, weight, bias, eps):
    dtype = compute_dtype(x.dtype)
    inner = _inner(x, normalized_shape)
    wide = hlo.convert(x, dtype)
    mean = _mean(wide, inner)
    centred = wide - mean
    rstd = hlo.rsqrt(_with_eps(centred, inner, eps))
    y = _affine(centred * rstd, weight, bias)
    return hlo.convert(y, out[0].dtype), *_as(out[1:], mean, rstd)


@lowers(aten.native_layer_norm_backward.default)
def layer_norm_backward(out, grad, x, normalized_shape, mean, rstd, weight, bias, mask):
    inner = _inner(x, normalized_shape)
    dtype = compute_dtype(x.dtype)
    grad, x, mean, rstd = (hlo.convert(v, dtype) for v in (grad, x, mean, rstd))
    normal = (x - mean) * rstd
    scaled = _affine(grad, weight, None)
    dx = rstd * (scaled - _mean(scaled, inner) - normal * _mean(scaled * normal, inner))
    outer = list(range(x.ndim - len(inner)))
    dw, db = total(grad * normal, outer), total(grad, outer)
    return _wanted(out, mask, dx, dw, db)


@lowers(aten._fused_rms_norm.default, runtime=("eps",))
def rms_norm(out, x, normalized_shape, weight, eps):
    inner = _inner(x, normalized_shape)
    wide = hlo.convert(x, compute_dtype(x.dtype))
    eps = torch.finfo(wide.dtype).eps if eps is None else eps
    rstd = hlo.rsqrt(_with_eps(wide, inner, eps))
    y = _affine(wide * rstd, weight, None)
    return hlo.convert(y, out[0].dtype), *_as(out[1:], rstd)


@lowers(aten._fused_rms_norm_backward.default)
def rms_norm_backward(out, grad, x, normalized_shape, rstd, weight, mask):
    inner = _inner(x, normalized_shape)
    dtype = compute_dtype(x.dtype)
    grad, x, rstd = (hlo.convert(v, dtype) for v in (grad, x, rstd))
    normal = x * rstd
    scaled = _affine(grad, weight, None)
    dx = rstd * (scaled - normal * _mean(scaled * normal, inner))
    dw = total(grad * normal, list(range(x.ndim - len(inner))))
    return _wanted(out, mask, dx, dw)


@lowers(aten.native_group_norm.default, runtime=("eps",))
def group_norm(out, x, weight, bias, n, c, hxw, groups, eps):
    wide = _grouped(hlo.convert(x, compute_dtype(x.dtype)), n, c, hxw, groups)
    mean = _mean(wide, [2, 3])
    centred = wide - mean
    rstd = hlo.rsqrt(_with_eps(centred, [2, 3], eps))
    y = centred * rstd
    if weight is not None:
        y = y * _group_channels(weight, y)
    if bias is not None:
        y = y + _group_channels(bias, y)
    y = hlo.convert(hlo.reshape(y, x.shape), out[0].dtype)
    return y, *_as(out[1:], hlo.reshape(mean, [n, groups]), hlo.reshape(rstd, [n, groups]))


@lowers(aten.native_group_norm_backward.default)
def group_norm_backward(out, grad, x, mean, rstd, weight, n, c, hxw, groups, mask):
    dtype = compute_dtype(x.dtype)
    shape = x.shape
    grad, x = (_grouped(hlo.convert(v, dtype), n, c, hxw, groups) for v in (grad, x))
    mean, rstd = (hlo.reshape(hlo.convert(v, dtype), [n, groups, 1, 1]) for v in (mean, rstd))
    normal = (x - mean) * rstd
    scaled = grad if weight is None else grad * _group_channels(weight, grad)
    dx = rstd * (scaled - _mean(scaled, [2, 3]) - normal * _mean(scaled * normal, [2, 3]))
    dw, db = (hlo.reshape(total(v, [0, 3]), [c]) for v in (grad * normal, grad))
    return _wanted(out, mask, hlo.reshape(dx, shape), dw, db)


@lowers(aten._weight_norm_interface.default)
def weight_norm(out, v, g, dim):
    dtype = compute_dtype(v.dtype)
    wide = hlo.convert(v, dtype)
    norm = hlo.sqrt(_sum_but(wide * wide, dim))
    w = wide * (hlo.convert(g, dtype) / norm)
    return hlo.convert(w, out[0].dtype), *_as(out[1:], norm)


@lowers(aten._weight_norm_interface_backward.default)
def weight_norm_backward(out, grad, v, g, norm, dim):
    dtype = compute_dtype(v.dtype)
    grad, v, g, norm = (hlo.convert(t, dtype) for t in (grad, v, g, norm))
    along = _sum_but(grad * v, dim) / norm
    dv = (g / norm) * (grad - v * (along / norm))
    return hlo.convert(dv, out[0].dtype), hlo.convert(along, out[1].dtype)


def _inner(x, normalized_shape) -> list[int]:
    return list(range(x.ndim - len(normalized_shape), x.ndim))


def _mean(x, dims):
    return total(x, dims, keepdim=True) / float(math.prod(x.shape[d] for d in dims))


def _with_eps(x, dims, eps):
    """The mean square over `dims`, plus `eps`."""
    square = _mean(x * x, dims)
    return square + number(eps, square)


def _affine(x, weight, bias):
    """x * weight + bias, both given over the innermost dimensions."""
    if weight is not None:
        x = x * hlo.convert(weight, x.dtype)
    if bias is not None:
        x = x + hlo.convert(bias, x.dtype)
    return x


def _grouped(x, n: int, c: int, hxw: int, groups: int):
    return hlo.reshape(x, [n, groups, c // groups, hxw])


def _group_channels(v, like):
    """A per-channel vector over like[N, groups, channels per group, pixels]."""
    return hlo.convert(hlo.reshape(v, [*like.shape[1:3], 1]), like.dtype)


def _sum_but(x, dim: int):
    dims = [d for d in range(x.ndim) if d != hlo.wrap_dim(dim, x.ndim)]
    return total(x, dims, keepdim=True)


def _as(metas, *values):
    return tuple(
        None if m is None else hlo.convert(v, m.dtype) for m, v in zip(metas, values, strict=True)
    )


def _wanted(out, mask, *gradients):
    return tuple(
        hlo.convert(g, meta.dtype) if wanted and meta is not None else None
        for g, meta, wanted in zip(gradients, out, mask, strict=True)
    )
