"""Discrete Fourier transforms of real and complex tensors over any dimensions.

StableHLO transforms the last one to three dimensions, so the others are moved there, three at a
time. Its inverse divides by the length, which is undone: PyTorch's `normalization` says what to
scale by. STFT, the FFT shifts and the `torch.fft` functions are PyTorch's own composites over
these.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten

_MOST = 3
_NO_SCALE, _BY_ROOT = 0, 1


@lowers(aten._fft_c2c.default)
def fft_c2c(out, x, dim, normalization, forward):
    y = _over(x, dim, "FFT" if forward else "IFFT")
    return _scaled(y, [x.shape[d] for d in dim], normalization)


@lowers(aten._fft_r2c.default)
def fft_r2c(out, x, dim, normalization, onesided):
    lengths = [x.shape[d] for d in dim]
    if onesided:
        y = _over(x, dim[-1:], "RFFT")
        y = _over(y, dim[:-1], "FFT")
    else:
        y = _over(hlo.convert(x, out.dtype), dim, "FFT")
    return _scaled(y, lengths, normalization)


@lowers(aten._fft_c2r.default)
def fft_c2r(out, x, dim, normalization, last_dim_size):
    high = [0] * x.ndim
    high[dim[-1]] = last_dim_size // 2 + 1 - x.shape[dim[-1]]
    half = hlo.pad(x, 0, [0] * x.ndim, high)
    y = _over(_over(half, dim[:-1], "IFFT"), dim[-1:], "IRFFT", last_dim_size)
    return _scaled(y, [x.shape[d] for d in dim[:-1]] + [last_dim_size], normalization)


def _over(x, dims, kind: str, length: int | None = None):
    """The unscaled transform of x along `dims`; `length` is the output's for IRFFT."""
    dims = [hlo.wrap_dim(d, x.ndim) for d in dims]
    while dims:
        dims, now = dims[:-_MOST], dims[-_MOST:]
        x = _last(x, now, kind, length)
    return x


def _last(x, dims: list[int], kind: str, length: int | None):
    order = [d for d in range(x.ndim) if d not in dims] + dims
    lengths = [length or x.shape[d] for d in dims]
    y = hlo.fft(hlo.transpose(x, order), kind, lengths)
    y = hlo.transpose(y, sorted(range(x.ndim), key=order.__getitem__))
    return _times(y, float(math.prod(lengths))) if kind in ("IFFT", "IRFFT") else y


def _scaled(y, lengths, normalization: int):
    if normalization == _NO_SCALE:
        return y
    n = float(math.prod(lengths))
    return _times(y, 1 / math.sqrt(n) if normalization == _BY_ROOT else 1 / n)


def _times(y, factor: float):
    return y * hlo.full((), factor, y.dtype)
