"""Casts with PyTorch's semantics, roundings and bit casts. Called by every rule file."""

from __future__ import annotations

import torch

from torch_neuronx.lowering.hlo.bindings import mlir, tensor_type
from torch_neuronx.lowering.hlo.create import Number, full, number
from torch_neuronx.lowering.value import LoweringError, Value

_FLOAT8 = frozenset(
    {
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.float8_e4m3fnuz,
        torch.float8_e5m2fnuz,
        torch.float8_e8m0fnu,
    }
)
_NARROW_FLOATS = _FLOAT8 | {torch.float16, torch.bfloat16}


def convert(x: Value | Number, dtype: torch.dtype) -> Value:
    """`x.to(dtype)` as PyTorch's CPU kernels do it.

    Floats truncate towards zero and wrap in integers of up to 16 bits; anything nonzero, NaN
    included, is True; a complex number loses its imaginary part; a narrow float is reached through
    float32, so that float64 and integers round twice as they do on CPU.
    """
    if not isinstance(x, Value):
        return number(x, dtype)
    if x.dtype == dtype:
        return x if not x.is_number else Value(lambda: x.ir, x.shape, dtype)
    if dtype == torch.bool:
        return _to_bool(x)
    if x.dtype.is_complex:
        return convert(_real(x), dtype) if not dtype.is_complex else _complex_to_complex(x, dtype)
    if dtype.is_complex:
        return _to_complex(x, dtype)
    if x.dtype == torch.bool and dtype.is_floating_point:
        return _from_bool(x, dtype)
    if x.dtype.is_floating_point and not dtype.is_floating_point:
        return _float_to_int(x, dtype)
    if dtype in _FLOAT8 and x.dtype not in (torch.float32, dtype):
        return convert(_raw(x, torch.float32), dtype)
    if dtype in _FLOAT8:
        return _to_float8(x, dtype)
    if dtype in _NARROW_FLOATS and x.dtype not in _NARROW_FLOATS and x.dtype != torch.float32:
        return _raw(_raw(x, torch.float32), dtype)
    return _raw(x, dtype)


def reduce_precision(x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """`x`, a float, rounded to that many bits; its dtype stays."""
    op = mlir().stablehlo.reduce_precision
    return Value(op(x.ir, exponent_bits, mantissa_bits), x.shape, x.dtype)


def bitcast(x: Value, dtype: torch.dtype) -> Value:
    """`x` with its bits read as `dtype`, as `Tensor.view(dtype)` of a contiguous tensor.

    Between widths the last dimension grows or shrinks by the ratio of the widths.
    """
    if x.dtype == dtype:
        return x
    if x.dtype == torch.bool:
        return bitcast(_raw(x, torch.uint8), dtype)
    if dtype == torch.bool:
        octets = bitcast(x, torch.uint8)
        return _to_bool(octets)
    if x.dtype.is_complex:
        return bitcast(_split_complex(x), dtype)
    if dtype.is_complex:
        return _join_complex(bitcast(x, _part(dtype)), dtype)
    return _bitcast_real(x, dtype)


def _raw(x: Value, dtype: torch.dtype) -> Value:
    kind = tensor_type(x.shape, dtype)
    return Value(mlir().stablehlo.convert(kind, x.ir), x.shape, dtype)


def _to_bool(x: Value) -> Value:
    from torch_neuronx.lowering.hlo.binary import compare

    return compare(x, full(x.shape, 0, x.dtype), "NE")


def _from_bool(x: Value, dtype: torch.dtype) -> Value:
    """A choice, because XLA takes the product of a converted bool and y for "y or else 0", which
    loses the NaN of 0 * inf and of 0 * NaN, and the sign of 0 * -1.
    """
    from torch_neuronx.lowering.hlo.binary import select

    return select(x, full(x.shape, 1, dtype), full(x.shape, 0, dtype))


def _float_to_int(x: Value, dtype: torch.dtype) -> Value:
    """What does not fit is undefined in C; this is what PyTorch's kernels give on x86."""
    x = _raw(x, torch.float32) if x.dtype in _NARROW_FLOATS else x
    if dtype == torch.uint64:
        return _float_to_uint64(x)
    wide = torch.int64 if dtype in (torch.int64, torch.uint32) else torch.int32
    return _raw(_truncated(x, wide), dtype)


def _truncated(x: Value, dtype: torch.dtype) -> Value:
    """int32 or int64; NaN and what is out of range are the smallest integer, which x86 calls
    indefinite.
    """
    from torch_neuronx.lowering.hlo.binary import select

    smallest = torch.iinfo(dtype).min
    fits = (x >= smallest) & (x < -smallest)
    return select(fits, _raw(x, dtype), full(x.shape, smallest, dtype))


def _float_to_uint64(x: Value) -> Value:
    """From 2**63 on by way of what is above it, as compilers do for x86."""
    from torch_neuronx.lowering.hlo.binary import select

    half = 2**63
    upper = _truncated(x - half, torch.int64) ^ -half
    return _raw(select(x >= half, upper, _truncated(x, torch.int64)), torch.uint64)


def _to_float8(x: Value, dtype: torch.dtype) -> Value:
    """From float32. PyTorch's e4m3fn saturates; its e8m0fnu, which has exponents only, drops the
    sign and rounds the magnitude.
    """
    from torch_neuronx.lowering.hlo.binary import clamp

    if dtype == torch.float8_e4m3fn:
        largest = torch.finfo(dtype).max
        return _raw(clamp(-largest, x, largest), dtype)
    return _exponent(x) if dtype == torch.float8_e8m0fnu else _raw(x, dtype)


def _exponent(x: Value) -> Value:
    """The exponent of a float32, to nearest, halves away from zero, as an e8m0fnu.

    A half of the smallest normal number or less is 0, which stands for 2**-127; what is not finite
    is NaN.
    """
    from torch_neuronx.lowering.hlo.binary import select, shr_logical

    bits = _bitcast_real(x, torch.int32) & 0x7FFFFFFF
    nearest = select(bits < 0x800000, bits + 0x3FFFFF, bits + 0x400000)
    exponent = select(bits >= 0x7F800000, 0xFF, shr_logical(nearest, 23))
    return _bitcast_real(_raw(exponent, torch.uint8), torch.float8_e8m0fnu)


def _real(x: Value) -> Value:
    from torch_neuronx.lowering.hlo.unary import real

    return real(x)


def _to_complex(x: Value, dtype: torch.dtype) -> Value:
    from torch_neuronx.lowering.hlo.binary import complex

    part = convert(x, _part(dtype))
    return complex(part, full(x.shape, 0, part.dtype))


def _complex_to_complex(x: Value, dtype: torch.dtype) -> Value:
    return _raw(x, dtype)


def _part(dtype: torch.dtype) -> torch.dtype:
    return torch.float32 if dtype == torch.complex64 else torch.float64


def _split_complex(x: Value) -> Value:
    """[..., n] complex -> [..., 2n] of its parts; a 0-d value becomes [2]."""
    from torch_neuronx.lowering.hlo.shape import concat, expand_dims, reshape
    from torch_neuronx.lowering.hlo.unary import imag, real

    parts = concat([expand_dims(real(x), -1), expand_dims(imag(x), -1)], dim=-1)
    return reshape(parts, x.shape[:-1] + (2 * x.shape[-1],)) if x.ndim else parts


def _join_complex(x: Value, dtype: torch.dtype) -> Value:
    from torch_neuronx.lowering.hlo.binary import complex
    from torch_neuronx.lowering.hlo.shape import reshape, slice_dim

    half = x.shape[:-1] + (x.shape[-1] // 2,)
    parts = reshape(x, half + (2,))
    return complex(
        reshape(slice_dim(parts, -1, 0, 1), half), reshape(slice_dim(parts, -1, 1, 2), half)
    )


def _bitcast_real(x: Value, dtype: torch.dtype) -> Value:
    from torch_neuronx.lowering.hlo.shape import reshape

    source, target = x.dtype.itemsize, dtype.itemsize
    if source == target:
        return _bitcast_op(x, x.shape, dtype)
    if source > target:
        ratio = source // target
        wide = _bitcast_op(x, x.shape + (ratio,), dtype)
        return reshape(wide, x.shape[:-1] + (x.shape[-1] * ratio,)) if x.ndim else wide
    ratio = target // source
    if not x.ndim or x.shape[-1] % ratio:
        raise LoweringError(f"cannot view {x} as {dtype}: its last dimension is not {ratio}k")
    shape = x.shape[:-1] + (x.shape[-1] // ratio,)
    return _bitcast_op(reshape(x, shape + (ratio,)), shape, dtype)


def _bitcast_op(x: Value, shape: tuple[int, ...], dtype: torch.dtype) -> Value:
    return Value(mlir().stablehlo.bitcast_convert(tensor_type(shape, dtype), x.ir), shape, dtype)
