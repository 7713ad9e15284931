"""One operator call as the C++ dispatcher sees it, without data. Built by C++ and by tests.

Field order is part of the interface: C++ constructs these by position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch


def operator(name: str, overload: str) -> torch._ops.OpOverload:
    """The operator that the dispatcher calls "namespace::name" with this overload name."""
    namespace, base = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base)
    return getattr(packet, overload or "default")


Number = bool | int | float | complex


@dataclass(frozen=True)
class BaseSpec:
    """One distinct storage among the arguments, in order of first appearance."""

    dtype: torch.dtype  # of its buffer, or of the first tensor seen on it when uninitialized
    shape: tuple[int, ...]  # physical dims of its buffer, row-major
    nbytes: int  # of the storage
    initialized: bool  # False: never written, reads as zeros, not a program input


@dataclass(frozen=True)
class TensorSpec:
    """One tensor argument: a view of `Call.bases[base]`."""

    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int  # this call's value, in elements; run-time when requires_offset
    base: int
    index: int  # among all tensor arguments
    conj: bool = False
    neg: bool = False
    requires_offset: bool = False
    box: bool = False  # at this offset no dimension runs past its end into the next one


@dataclass(frozen=True)
class NumberSpec:
    """A run-time number: Python number, Scalar, or 0-d CPU tensor. Its value is not in the key."""

    dtype: torch.dtype
    index: int  # among all run-time numbers
    wrapped: bool  # promotes like a Python number, not like a 0-d tensor
    value: Number  # of this call: for inference and errors, never for the program


@dataclass(frozen=True)
class NumberListSpec:
    """A run-time list of numbers: one 1-d program input."""

    dtype: torch.dtype
    index: int
    length: int
    values: tuple[Number, ...]


@dataclass(frozen=True)
class Call:
    """`args` has one entry per schema argument, keyword-only ones included."""

    op: torch._ops.OpOverload
    args: tuple[Any, ...]
    bases: tuple[BaseSpec, ...]
    key: bytes
    device: int = 0

    def tensors(self) -> Iterator[TensorSpec]:
        """All tensor arguments in order of `index`."""
        for argument in self.args:
            members = argument if isinstance(argument, list) else [argument]
            yield from (m for m in members if isinstance(m, TensorSpec))

    def is_out(self, spec: TensorSpec) -> bool:
        """Whether a tensor was given as out=, and so may be resized."""
        return any(
            declared.kwarg_only and (value is spec or (isinstance(value, list) and spec in value))
            for declared, value in zip(self.op._schema.arguments, self.args, strict=True)
        )
