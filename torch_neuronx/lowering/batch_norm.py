"""Batch normalisation in training and inference, and its gradient.

Instance norm is PyTorch's own composite over these. Statistics are computed in float32 for
bfloat16 and float16 and saved in the dtype PyTorch CPU saves them in. The ops that update running
statistics in place reach these rules as their functional forms.
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

_RUNTIME = ("momentum", "eps")


@lowers(aten._native_batch_norm_legit_functional.default, runtime=_RUNTIME)
def batch_norm_functional(out, x, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        y = _normalized(out[0], x, weight, bias, *_running(x, running_mean, running_var, eps))
        running = (running_mean, out[3]), (running_var, out[4])
        return y, *_no_statistics(out), *(hlo.convert(v, meta.dtype) for v, meta in running)
    mean, var = _statistics(x)
    rstd = _rstd(var, eps)
    y = _normalized(out[0], x, weight, bias, mean, rstd)
    saved = hlo.convert(mean, out[1].dtype), hlo.convert(rstd, out[2].dtype)
    n = x.numel // x.shape[1]
    unbiased = var * (n / (n - 1) if n > 1 else math.nan)
    return (
        y,
        *saved,
        hlo.convert(_moved(running_mean, mean, momentum), out[3].dtype),
        hlo.convert(_moved(running_var, unbiased, momentum), out[4].dtype),
    )


@lowers(aten._batch_norm_with_update_functional.default, runtime=_RUNTIME)
def batch_norm_with_update_functional(
    out, x, weight, bias, running_mean, running_var, momentum, eps
):
    without_reserve = (*out[:3], *out[4:])
    y, mean, rstd, *running = batch_norm_functional(
        without_reserve, x, weight, bias, running_mean, running_var, True, momentum, eps
    )
    return y, mean, rstd, _reserve(out[3]), *running


@lowers(aten._native_batch_norm_legit.no_stats, runtime=_RUNTIME)
def batch_norm_of_batch(out, x, weight, bias, training, momentum, eps):
    mean, var = _statistics(x)
    rstd = _rstd(var, eps)
    y = _normalized(out[0], x, weight, bias, mean, rstd)
    return y, hlo.convert(mean, out[1].dtype), hlo.convert(rstd, out[2].dtype)


@lowers(aten.native_batch_norm.default, runtime=_RUNTIME)
def batch_norm(out, x, weight, bias, running_mean, running_var, training, momentum, eps):
    """The calls that write nothing: those that update statistics take the functional form."""
    if training:
        return batch_norm_of_batch(out, x, weight, bias, training, momentum, eps)
    return batch_norm_inference(out, x, weight, bias, running_mean, running_var, momentum, eps)


@lowers(aten._native_batch_norm_legit_no_training.default, runtime=_RUNTIME)
def batch_norm_inference(out, x, weight, bias, running_mean, running_var, momentum, eps):
    y = _normalized(out[0], x, weight, bias, *_running(x, running_mean, running_var, eps))
    return y, *_no_statistics(out)


@lowers(aten._batch_norm_no_update.default, runtime=_RUNTIME)
def batch_norm_no_update(out, x, weight, bias, running_mean, running_var, momentum, eps):
    y = _normalized(out[0], x, weight, bias, *_running(x, running_mean, running_var, eps))
    return y, *_no_statistics(out), _reserve(out[3])


@lowers(aten.native_batch_norm_backward.default, runtime=("eps",))
def batch_norm_backward(
    out, grad, x, weight, running_mean, running_var, saved_mean, saved_rstd, train, eps, mask
):
    dtype = compute_dtype(x.dtype)
    mean, rstd = saved_mean, saved_rstd
    if not train:
        mean, rstd = _running(x, running_mean, running_var, eps)
    mean, rstd = hlo.convert(mean, dtype), hlo.convert(rstd, dtype)
    grad = hlo.convert(grad, dtype)
    centred = hlo.convert(x, dtype) - _per_channel(mean, x.shape)
    dims = [d for d in range(x.ndim) if d != 1]
    grads, product = total(grad, dims), total(grad * centred, dims)
    scale = rstd if weight is None else rstd * hlo.convert(weight, dtype)
    if train:
        n = x.numel // x.shape[1]
        slope = product * rstd * rstd / n
        grad = grad - _per_channel(grads / n, x.shape) - centred * _per_channel(slope, x.shape)
    gradients = grad * _per_channel(scale, x.shape), product * rstd, grads
    return tuple(
        None if meta is None or not wanted else hlo.convert(g, meta.dtype)
        for g, meta, wanted in zip(gradients, out, mask, strict=True)
    )


@lowers(aten.batch_norm_backward.default, runtime=("eps",))
def batch_norm_backward_with_reserve(out, *args):
    return batch_norm_backward(out, *args[:-1])


def _per_channel(v, shape):
    return hlo.broadcast_in_dim(v, shape, [1])


def _statistics(x):
    """Mean and biased variance of each channel, in the compute dtype."""
    if x.numel == 0:
        sizes = list(x.shape)
        raise RuntimeError(
            f"input tensor must have at least one element, but got input_sizes = {sizes}"
        )
    dtype = compute_dtype(x.dtype)
    dims = [d for d in range(x.ndim) if d != 1]
    n = x.numel // x.shape[1]
    x = hlo.convert(x, dtype)
    mean = total(x, dims) / n
    centred = x - _per_channel(mean, x.shape)
    return mean, total(centred * centred, dims) / n


def _running(x, running_mean, running_var, eps):
    dtype = compute_dtype(x.dtype)
    return hlo.convert(running_mean, dtype), _rstd(hlo.convert(running_var, dtype), eps)


def _rstd(var, eps):
    return 1.0 / hlo.sqrt(var + number(eps, var))


def _normalized(meta, x, weight, bias, mean, rstd):
    dtype = mean.dtype
    scale = rstd if weight is None else rstd * hlo.convert(weight, dtype)
    shift = -mean * scale if bias is None else hlo.convert(bias, dtype) - mean * scale
    x = hlo.convert(x, dtype)
    y = x * _per_channel(scale, x.shape) + _per_channel(shift, x.shape)
    return hlo.convert(y, meta.dtype)


def _moved(running, value, momentum):
    """The running statistic after one step of size `momentum` towards `value`."""
    if running is None:
        return None
    step, rest = (
        number(share, value) for share in (momentum, 1.0 - hlo.number(momentum, torch.float64))
    )
    moved = step * value + rest * hlo.convert(running, value.dtype)
    return hlo.convert(moved, running.dtype)


def _no_statistics(out):
    """Inference saves nothing: PyTorch CPU returns two empty tensors."""
    return tuple(None if m is None else hlo.full(m.shape, 0, m.dtype) for m in out[1:3])


def _reserve(meta):
    return None if meta is None else hlo.full(meta.shape, 0, meta.dtype)
