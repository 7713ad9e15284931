"""jaxlib's MLIR bindings, imported on first use, and the mapping of dtypes to element types.

Called by the other modules of this package only; no rule touches MLIR itself.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from torch_neuronx.lowering.value import LoweringError


@functools.cache
def mlir() -> Any:
    """The namespaces `ir`, `stablehlo`, `chlo`, `func` and `passes` of jaxlib's bindings."""
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, func, stablehlo

    stablehlo.register_stablehlo_passes()
    return SimpleNamespace(
        ir=ir, stablehlo=stablehlo, chlo=chlo, func=func, passes=passmanager, ext=_jax_mlir_ext
    )


@functools.cache
def context() -> Any:
    """The one MLIR context. It is used under the lock of `context.building` only."""
    m = mlir()

    class Context(m.ir.Context):  # type: ignore[name-defined]
        def __init__(self) -> None:
            # Past ir.Context's own __init__, which loads every dialect linked into the bindings.
            super(m.ir.Context, self).__init__()

    made = Context()
    upstream = m.ir.DialectRegistry()
    m.ext.register_dialects(upstream)
    made.append_dialect_registry(upstream)
    made.enable_multithreading(False)
    made.load_all_available_dialects()
    m.stablehlo.register_dialect(made)
    m.chlo.register_dialect(made)
    return made


_ELEMENT_TYPES = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.uint16: "ui16",
    torch.uint32: "ui32",
    torch.uint64: "ui64",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
    torch.float8_e8m0fnu: "f8E8M0FNU",
}


@functools.cache
def element_type(dtype: torch.dtype) -> Any:
    """The MLIR element type of a dtype; UnsupportedDtype for one StableHLO lacks."""
    check_supported(dtype)
    return mlir().ir.Type.parse(_ELEMENT_TYPES[dtype], context())


@functools.lru_cache(maxsize=4096)
def tensor_type(shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    return mlir().ir.RankedTensorType.get(
        shape, element_type(dtype), loc=mlir().ir.Location.unknown(context())
    )


class UnsupportedDtype(NotImplementedError):
    """StableHLO lacks it."""


def check_supported(dtype: torch.dtype, op: Any = None) -> None:
    """Raises UnsupportedDtype, with the op's name."""
    if not is_supported(dtype):
        asked = f"{op}: " if op else ""
        raise UnsupportedDtype(
            f"{asked}neuron devices have no element type for {dtype}; view the tensor as another "
            "dtype first"
        )


def is_supported(dtype: torch.dtype) -> bool:
    return dtype in _ELEMENT_TYPES


def int_array(values: Sequence[int]) -> Any:
    """A DenseI64ArrayAttr."""
    return mlir().ir.DenseI64ArrayAttr.get([int(v) for v in values])


def pairs(values: Sequence[Sequence[int]]) -> Any:
    """An n x 2 DenseIntElementsAttr: (low, high) padding per dimension."""
    import numpy as np

    array = np.asarray(values, dtype=np.int64).reshape(len(values), 2)
    return mlir().ir.DenseIntElementsAttr.get(array)


def require(condition: bool, message: str) -> None:
    if not condition:
        raise LoweringError(message)
