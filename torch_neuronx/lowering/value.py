"""The typed values that lowering rules take and return, and the metadata of results.

A `Value` is an SSA value of the StableHLO module under construction together with its PyTorch dtype
and its shape; its Python operators build the corresponding StableHLO ops. This module knows nothing
of MLIR: the ops are in `hlo`. Called by every rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class LoweringError(RuntimeError):
    """A rule misused a helper or returned something other than the op's metadata promises."""


class Meta(NamedTuple):
    """What a result must be: the shape, dtype and strides that PyTorch's own meta kernel gives."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    strides: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


class Value:
    """A tensor in logical order, or (`is_number`) a 0-d run-time number.

    `ir` may be given as a function that builds the value on first use, so that an argument which a
    rule never reads does not become an input of the program. `strides` are those of the tensor that
    an argument of a rule stands for, None where there is none: they are for the few ops whose
    values depend on them.
    """

    __slots__ = ("_ir", "dtype", "is_number", "shape", "strides")

    def __init__(
        self,
        ir: Any | Callable[[], Any],
        shape: tuple[int, ...],
        dtype: torch.dtype,
        is_number: bool = False,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self._ir = ir
        self.shape = tuple(shape)
        self.dtype = dtype
        self.is_number = is_number
        self.strides = strides

    @property
    def ir(self) -> Any:
        if callable(self._ir):
            self._ir = self._ir()
        return self._ir

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    def seen(self, strides: tuple[int, ...]) -> Value:
        """The same value as a tensor with these strides."""
        return Value(lambda: self.ir, self.shape, self.dtype, self.is_number, strides)

    def __repr__(self) -> str:
        return f"Value({self.dtype}, {list(self.shape)})"

    def __add__(self, other: Any) -> Value:
        return _hlo().add(self, other)

    def __radd__(self, other: Any) -> Value:
        return _hlo().add(other, self)

    def __sub__(self, other: Any) -> Value:
        return _hlo().sub(self, other)

    def __rsub__(self, other: Any) -> Value:
        return _hlo().sub(other, self)

    def __mul__(self, other: Any) -> Value:
        return _hlo().mul(self, other)

    def __rmul__(self, other: Any) -> Value:
        return _hlo().mul(other, self)

    def __truediv__(self, other: Any) -> Value:
        return _hlo().div(self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return _hlo().div(other, self)

    def __neg__(self) -> Value:
        return _hlo().neg(self)

    def __invert__(self) -> Value:
        return _hlo().not_(self)

    def __and__(self, other: Any) -> Value:
        return _hlo().and_(self, other)

    def __or__(self, other: Any) -> Value:
        return _hlo().or_(self, other)

    def __xor__(self, other: Any) -> Value:
        return _hlo().xor(self, other)

    def __lt__(self, other: Any) -> Value:
        return _hlo().compare(self, other, "LT")

    def __le__(self, other: Any) -> Value:
        return _hlo().compare(self, other, "LE")

    def __gt__(self, other: Any) -> Value:
        return _hlo().compare(self, other, "GT")

    def __ge__(self, other: Any) -> Value:
        return _hlo().compare(self, other, "GE")

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return _hlo().compare(self, other, "EQ")

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return _hlo().compare(self, other, "NE")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise LoweringError("the truth of a Value is not known while the program is being built")


def _hlo() -> Any:
    from torch_neuronx.lowering import hlo

    return hlo
