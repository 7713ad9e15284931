"""Interpolation by fixed taps along each axis: nearest, linear, cubic and their antialiased forms.

Which input positions an output reads, and with what weights, follows from sizes and scale factors
alone: the tables are made here in the arithmetic of PyTorch's CPU kernels
(aten/native/UpSample.h), float32 unless the tensor is float64. The gradients use the transposed
tables.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.taps import Taps, resample

aten = torch.ops.aten

# size in, size out, align_corners, scale factor or None, numpy float type -> Taps
Table = Callable[[int, int, bool, float | None, type], Taps]


def _scale(size: int, count: int, align: bool, factor: float | None, real: type):
    """How many input pixels one output pixel advances by."""
    if align:
        return real(size - 1) / real(count - 1) if count > 1 else real(0)
    return real(1.0 / factor) if factor else real(size) / real(count)


def _source(size, count, align, factor, real):
    """The unclamped input coordinate of every output position."""
    scale = _scale(size, count, align, factor, real)
    place = np.arange(count, dtype=real)
    return scale * place if align else scale * (place + real(0.5)) - real(0.5)


def nearest(size, count, align, factor, real) -> Taps:
    if count in (size, 2 * size):
        index = np.arange(count) * size // count
    else:
        scale = _scale(size, count, False, factor, np.float32)
        index = np.floor(np.arange(count, dtype=np.float32) * scale).astype(np.int64)
    return _single(index, size)


def nearest_exact(size, count, align, factor, real) -> Taps:
    scale = _scale(size, count, False, factor, np.float32)
    middle = np.arange(count, dtype=np.float32) + np.float32(0.5)
    return _single(np.floor(middle * scale).astype(np.int64), size)


def linear(size, count, align, factor, real) -> Taps:
    if size == count:
        return _single(np.arange(size), size)
    source = np.maximum(_source(size, count, align, factor, real), real(0))
    low = np.minimum(source.astype(np.int64), size - 1)
    part = np.clip(source - low.astype(real), real(0), real(1))
    index = np.stack([low, np.minimum(low + 1, size - 1)], 1)
    return Taps.of(index, np.stack([real(1) - part, part], 1), size)


def cubic(size, count, align, factor, real) -> Taps:
    source = _source(size, count, align, factor, real)
    low = np.minimum(np.floor(source).astype(np.int64), size - 1)
    part = np.clip(source - low.astype(real), real(0), real(1))
    distance = np.stack([part + real(1), part, real(1) - part, real(2) - part], 1)
    index = np.clip(low[:, None] + np.arange(-1, 3), 0, size - 1)
    return Taps.of(index, _cubic_filter(distance, -0.75).astype(real), size)


def antialiased(filter_: Callable[[np.ndarray], np.ndarray], radius: float) -> Table:
    """The filter of `radius` input pixels, widened by the scale when that shrinks the image."""

    def table(size, count, align, factor, real) -> Taps:
        scale = _scale(size, count, align, factor, real)
        stretch = max(scale, real(1))
        support = real(radius) * stretch
        center = scale * (np.arange(count, dtype=real) + real(0.5))
        start = np.maximum((center - support + real(0.5)).astype(np.int64), 0)
        end = np.minimum((center + support + real(0.5)).astype(np.int64), size)
        taps = Taps.windows(start, np.maximum(end, start), size)
        away = taps.index - center[:, None] + real(0.5)
        weight = np.where(taps.valid, filter_(away / stretch), 0)
        total = weight.sum(1, keepdims=True)
        weight = np.divide(weight, total, out=weight, where=total != 0)
        return Taps(taps.index, weight.astype(real), taps.valid, size)

    return table


def _single(index: np.ndarray, size: int) -> Taps:
    index = np.minimum(index, size - 1)[:, None]
    return Taps.of(index, np.ones(index.shape), size)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _cubic_filter(x: np.ndarray, a: float) -> np.ndarray:
    """Keys's cubic convolution kernel with parameter `a`."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_bilinear_aa = antialiased(_triangle, 1)
_bicubic_aa = antialiased(lambda x: _cubic_filter(x, -0.5), 2)

# What PyTorch computes the tables of in float32.
_SINGLE = (torch.float32, torch.bfloat16, torch.float16)

# op name, spatial rank, table, whether the schema has align_corners
_OPS: list[tuple[str, int, Table, bool]] = [
    *((f"upsample_nearest{n}d", n, nearest, False) for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", n, nearest_exact, False) for n in (1, 2, 3)),
    ("upsample_linear1d", 1, linear, True),
    ("upsample_bilinear2d", 2, linear, True),
    ("upsample_trilinear3d", 3, linear, True),
    ("upsample_bicubic2d", 2, cubic, True),
    ("_upsample_bilinear2d_aa", 2, _bilinear_aa, True),
    ("_upsample_bicubic2d_aa", 2, _bicubic_aa, True),
    ("_upsample_lanczos2d_aa", 2, antialiased(_lanczos, 3), True),
]


def _tables(table: Table, sizes, counts, aligned: bool, args, dtype) -> list[Taps]:
    align, factors = (args[0], args[1:]) if aligned else (False, args)
    factors = [*factors, *[None] * len(sizes)]
    real = np.float32 if dtype in _SINGLE else np.float64
    return [table(n, c, align, f, real) for n, c, f in zip(sizes, counts, factors, strict=False)]


def _forward(rank: int, table: Table, aligned: bool):
    def rule(out, x, output_size, *args):
        taps = _tables(table, x.shape[-rank:], output_size, aligned, args, x.dtype)
        return _resampled(out, x, taps)

    return rule


def _backward(rank: int, table: Table, aligned: bool):
    def rule(out, grad, output_size, input_size, *args):
        taps = _tables(table, input_size[-rank:], output_size, aligned, args, grad.dtype)
        return _resampled(out, grad, [t.transposed() for t in taps])

    return rule


def _resampled(out, x, taps: list[Taps]):
    """x resampled along its last axes, the innermost first."""
    weighted = any(np.any(t.weight != 1) for t in taps)
    if weighted and not x.dtype.is_floating_point:
        return _resampled_bytes(x, taps)
    y = hlo.convert(x, compute_dtype(x.dtype))
    for axis in reversed(range(len(taps))):
        y = resample(y, x.ndim - len(taps) + axis, taps[axis])
    return hlo.convert(y, out.dtype)


def _resampled_bytes(x, taps: list[Taps]):
    """As PyTorch and Pillow resize bytes: 16-bit weights, rounded to a byte axis by axis."""
    if x.dtype != torch.uint8:
        raise NotImplementedError(f"interpolation between pixels is not implemented for {x.dtype}")
    for axis in reversed(range(len(taps))):
        table, at = taps[axis], x.ndim - len(taps) + axis
        if np.all(table.weight == 1):
            x = resample(x, at, table)
            continue
        joined = _joined_weights(table)
        shift = _weight_bits(joined)
        weight = np.trunc(joined * 2.0**shift + np.copysign(0.5, joined))
        whole = Taps(table.index, weight.astype(np.int32), table.valid, table.size)
        total = resample(hlo.convert(x, torch.int32), at, whole) + (1 << (shift - 1))
        x = hlo.convert(hlo.clamp(0, hlo.shr_arith(total, shift), 255), torch.uint8)
    return x


def _joined_weights(table: Taps) -> np.ndarray:
    """What reads one pixel several times, past an edge, has one weight there, rounded once."""
    weight = np.where(table.valid, table.weight, 0)
    for tap in range(1, weight.shape[1]):
        again = table.valid[:, tap] & (table.index[:, tap] == table.index[:, tap - 1])
        weight[:, tap] += np.where(again, weight[:, tap - 1], 0)
        weight[again, tap - 1] = 0
    return weight


def _weight_bits(weight: np.ndarray) -> int:
    """The most fraction bits with which every weight still fits 16 bits."""
    largest = float(weight.max(initial=0))
    bits = 0
    while bits < 22 and int(0.5 + largest * 2 ** (bits + 1)) < 2**15:
        bits += 1
    return bits


def _infer(op):
    """PyTorch's meta kernels stumble over an empty batch: take one of a batch of one."""

    def infer(x, *args):
        if x.numel() or x.ndim < 3 or 0 in x.shape[1:]:
            return op(x, *args)
        return op(x.new_empty(1, *x.shape[1:]), *args)[:0]

    return infer


for _name, _rank, _table, _aligned in _OPS:
    _op = getattr(aten, _name).default
    lowers(_op)(_forward(_rank, _table, _aligned))
    infers(_op)(_infer(_op))
    if hasattr(aten, _name + "_backward"):
        lowers(getattr(aten, _name + "_backward").default)(_backward(_rank, _table, _aligned))
