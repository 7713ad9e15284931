"""A 0-d tensor's number in another dtype as CPU kernels convert `tensor.item()`: refused, not
wrapped, when it does not fit (c10/util/TypeCast.h). Called by the rules that fill with one.
"""

from __future__ import annotations

import functools

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.value import Value

_C_NAMES = {
    torch.uint8: "uint8_t",
    torch.int8: "int8_t",
    torch.int16: "int16_t",
    torch.int32: "int",
    torch.int64: "int64_t",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.float32: "float",
    torch.float64: "double",
    torch.complex64: "c10::complex<float>",
}


def fitted(value: Value | float, dtype: torch.dtype) -> Value | float:
    """`value`, which is 0-d, as `dtype`. A number stays: it is checked before its call."""
    if not isinstance(value, Value) or value.is_number:
        return value
    failures = _failures(value, dtype) if dtype in _C_NAMES else []
    if failures:
        message = f"value cannot be converted to type {_C_NAMES[dtype]} without overflow"
        check(functools.reduce(hlo.or_, failures), "RuntimeError", message)
    return hlo.convert(value, dtype)


def _failures(value: Value, dtype: torch.dtype) -> list[Value]:
    """0-d bools, any of which refuses the number. Empty where every number fits."""
    if value.dtype.is_complex:
        real, imag = hlo.real(value), hlo.imag(value)
        if dtype.is_complex:
            return _failures(real, dtype.to_real()) + _failures(imag, dtype.to_real())
        return [imag != 0.0, *_failures(real, dtype)]
    if value.dtype == torch.bool or value.dtype == dtype:
        return []
    target = dtype.to_real() if dtype.is_complex else dtype
    if value.dtype.is_floating_point:
        return _float_failures(value, target)
    return _integer_failures(value, target)


def _float_failures(value: Value, dtype: torch.dtype) -> list[Value]:
    """Infinities and NaN fit a float."""
    if not dtype.is_floating_point:
        low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        wide = hlo.convert(value, torch.float64)
        return [wide != wide, wide < float(low), wide > float(high)]
    if torch.finfo(dtype).max >= torch.finfo(value.dtype).max:
        return []
    size = hlo.abs(hlo.convert(value, torch.float64))
    return [(size > torch.finfo(dtype).max) & (size < float("inf"))]


def _integer_failures(value: Value, dtype: torch.dtype) -> list[Value]:
    """A negative number wraps to an unsigned one of at most its size."""
    if dtype.is_floating_point:
        low, high = -int(torch.finfo(dtype).max), int(torch.finfo(dtype).max)
    else:
        high = torch.iinfo(dtype).max
        low = torch.iinfo(dtype).min if dtype.is_signed else -high
    own = torch.iinfo(value.dtype)
    below = [value < low] if own.min < low else []
    return below + ([value > high] if own.max > high else [])
