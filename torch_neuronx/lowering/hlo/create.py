"""Values made from nothing: constants, fills, iota, numbers. Called by every rule file."""

from __future__ import annotations

import builtins
import cmath
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from torch_neuronx.lowering.hlo.bindings import context, element_type, mlir, tensor_type
from torch_neuronx.lowering.value import LoweringError, Value

Number = builtins.bool | builtins.int | builtins.float | builtins.complex


def full(shape: Sequence[int], value: Number | Value, dtype: torch.dtype) -> Value:
    """A tensor of `shape` whose every element is `value`, cast to `dtype` as PyTorch casts."""
    from torch_neuronx.lowering.hlo.cast import convert
    from torch_neuronx.lowering.hlo.shape import broadcast_to

    if isinstance(value, Value):
        return broadcast_to(convert(value, dtype), tuple(shape))
    result = tensor_type(tuple(shape), dtype)
    if dtype.is_complex:
        return broadcast_to(constant(np.asarray(value, _numpy_dtype(dtype))), tuple(shape))
    attribute = mlir().ir.DenseElementsAttr.get_splat(result, _scalar_attribute(value, dtype))
    return Value(mlir().stablehlo.constant(attribute), tuple(shape), dtype)


def number(value: Number | Value, dtype: torch.dtype) -> Value:
    """A 0-d value of `dtype` from a Python number or a run-time number."""
    return full((), value, dtype)


def constant(array: np.ndarray) -> Value:
    """A literal tensor. Keep these small: they are part of the program."""
    array = np.asarray(array, order="C")
    if array.dtype == np.bool_:
        octets = constant(array.view(np.uint8))
        return _nonzero(octets)
    dtype = torch.from_numpy(np.empty((1,), array.dtype)).dtype
    attribute = mlir().ir.DenseElementsAttr.get(
        array, type=element_type(dtype), shape=array.shape, context=context()
    )
    return Value(mlir().stablehlo.constant(attribute), array.shape, dtype)


def literal(tensor: torch.Tensor) -> Value:
    """A CPU tensor of any supported dtype as a constant of the program."""
    from torch_neuronx.lowering.hlo.cast import bitcast
    from torch_neuronx.lowering.hlo.shape import reshape

    if tensor.dtype in (torch.bool, torch.float32, torch.float64, torch.int32, torch.int64):
        return constant(tensor.contiguous().numpy())
    octets = constant(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
    return reshape(bitcast(octets, tensor.dtype), tuple(tensor.shape))


def iota(shape: Sequence[int], dim: int, dtype: torch.dtype) -> Value:
    """Element [i_0, ..., i_n] is i_dim."""
    if dtype == torch.bool:
        raise LoweringError("iota has no bool form")
    kind = tensor_type(tuple(shape), dtype)
    return Value(mlir().stablehlo.iota(kind, int(dim) % len(shape)), tuple(shape), dtype)


def _nonzero(octets: Value) -> Value:
    from torch_neuronx.lowering.hlo.cast import convert

    return convert(octets, torch.bool)


def _scalar_attribute(value: Number, dtype: torch.dtype) -> Any:
    ir = mlir().ir
    if dtype == torch.bool:
        return ir.IntegerAttr.get(element_type(dtype), builtins.bool(value))
    if dtype.is_floating_point:
        return ir.FloatAttr.get(element_type(dtype), _real(value), loc=_unknown())
    return ir.IntegerAttr.get(element_type(dtype), _wrapped(_integer(value), dtype))


def _real(value: Number) -> float:
    if isinstance(value, builtins.complex):
        return value.real
    try:
        return builtins.float(value)
    except OverflowError:
        return cmath.inf if value > 0 else -cmath.inf


def _integer(value: Number) -> int:
    if isinstance(value, builtins.float) and value != value:
        return 0
    return (
        builtins.int(_real(value)) if isinstance(value, builtins.complex) else builtins.int(value)
    )


def _wrapped(value: int, dtype: torch.dtype) -> int:
    info = torch.iinfo(dtype)
    span = 1 << info.bits
    return (value - info.min) % span + info.min


def _numpy_dtype(dtype: torch.dtype) -> Any:
    return np.complex64 if dtype == torch.complex64 else np.complex128


def _unknown() -> Any:
    return mlir().ir.Location.unknown(context())
