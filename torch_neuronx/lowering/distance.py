"""p-norm distances between the rows of two matrices or of one, with their gradients.

The Euclidean distance of many rows goes through one matrix product, as PyTorch CPU decides;
everything else subtracts row from row. `pairwise_distance` and cosine similarity are PyTorch's own
composites.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take
from torch_neuronx.lowering.reduction import total
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten

_USE_PRODUCT_IF_MANY, _USE_PRODUCT = 0, 1
_MANY = 25


@lowers(aten._cdist_forward.default)
def cdist(out, x, y, p, compute_mode):
    """x[..., P, M], y[..., R, M] -> [..., P, R]."""
    many = x.shape[-2] > _MANY or y.shape[-2] > _MANY
    mode = _USE_PRODUCT_IF_MANY if compute_mode is None else compute_mode
    x, y = _same_batch(x, y, out.shape[:-2])
    if p == 2 and (mode == _USE_PRODUCT or (mode == _USE_PRODUCT_IF_MANY and many)):
        return _euclidean_by_product(x, y)
    return _norm(_differences(x, y), p)


@lowers(aten._cdist_backward.default)
def cdist_backward(out, grad, x, y, p, cdist):
    x, y = _same_batch(x, y, out.shape[:-2])
    slope = _slope(_differences(x, y), p, _column(cdist))
    return total(slope * _column(grad), [out.ndim - 1])


@lowers(aten._pdist_forward.default)
def pdist(out, x, p=2.0):
    """x[N, M] -> the N * (N - 1) / 2 distances of rows i < j, in row-major order."""
    first, second = np.triu_indices(x.shape[0], 1)
    away = [take(x, 0, hlo.constant(rows.astype(np.int32))) for rows in (first, second)]
    return _norm(away[0] - away[1], p)


@lowers(aten._pdist_backward.default)
def pdist_backward(out, grad, x, p, pdist):
    n = x.shape[0]
    place = np.zeros((n, n), np.int32)
    place[np.triu_indices(n, 1)] = np.arange(n * (n - 1) // 2)
    square = hlo.constant(place + place.T)
    apart = hlo.constant(~np.eye(n, dtype=bool)[..., None])
    grads, distances = (_column(take(v, 0, square)) for v in (grad, pdist))
    slope = _slope(_differences(x, x), p, distances)
    return total(hlo.select(apart, slope * grads, 0.0), [1])


def _same_batch(x, y, batch):
    return (hlo.broadcast_to(v, (*batch, *v.shape[-2:])) for v in (x, y))


def _column(v):
    return hlo.reshape(v, [*v.shape, 1])


def _differences(x, y):
    """[..., P, R, M]"""
    *batch, p, m = x.shape
    return hlo.reshape(x, [*batch, p, 1, m]) - hlo.reshape(y, [*batch, 1, y.shape[-2], m])


def _norm(away, p: float):
    """The p-norm over the last dimension."""
    size, last = hlo.abs(away), [away.ndim - 1]
    if away.shape[-1] == 0:
        return hlo.full(away.shape[:-1], 0, away.dtype)
    if p == 0:
        return total(hlo.convert(size != 0.0, away.dtype), last)
    if p == 1:
        return total(size, last)
    if p == 2:
        return hlo.sqrt(total(size * size, last))
    if p == math.inf:
        return hlo.reduce(size, last, "max")
    return hlo.pow(total(hlo.pow(size, float(p)), last), 1.0 / p)


def _slope(away, p: float, distance):
    """The derivative of the p-norm by every difference, zero where two rows coincide."""
    size, sign = hlo.abs(away), hlo.sign(away)
    if p == 0:
        return away * 0.0
    if p == 1:
        return sign
    apart = distance != 0.0
    if p == 2:
        return hlo.select(apart, away / distance, 0.0)
    if p == math.inf:
        return hlo.select(size == distance, sign, 0.0)
    if p < 2:
        apart = apart & (size != 0.0)
        power = sign * hlo.pow(size, float(p - 1)) / hlo.pow(distance, float(p - 1))
        return hlo.select(apart, power, 0.0)
    power = away * hlo.pow(size, float(p - 2)) / hlo.pow(distance, float(p - 1))
    return hlo.select(apart, power, 0.0)


def _euclidean_by_product(x, y):
    """sqrt(|x|^2 + |y|^2 - 2 x.y), the three terms in one product."""
    lead, last = list(range(x.ndim - 2)), x.ndim - 1
    one_x, one_y = (hlo.full((*v.shape[:-1], 1), 1, v.dtype) for v in (x, y))
    square_x, square_y = (total(v * v, [last], keepdim=True) for v in (x, y))
    left = hlo.concat([x * -2.0, square_x, one_x], last)
    right = hlo.concat([y, one_y, square_y], last)
    square = hlo.dot_general(left, right, batch=(lead, lead), contract=([last], [last]))
    return hlo.sqrt(hlo.max(square, 0.0))
