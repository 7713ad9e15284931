"""The storages of one call inside its program: arguments read from them, results written to them.

Called by `plan`. A storage is read at its state before the call, whatever the call writes; several
writes to one storage (views of a flat buffer) follow each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from torch_neuronx.eager.call import Call, NumberListSpec, NumberSpec, TensorSpec
from torch_neuronx.lowering import hlo, recipe
from torch_neuronx.lowering.module import Module
from torch_neuronx.lowering.value import Value


class Bases:
    def __init__(self, module: Module, call: Call) -> None:
        self.module = module
        self.specs = call.bases
        self._written: dict[int, Value] = {}
        self._writes: Counter[int] = Counter()

    def argument(self, argument: Any) -> Any:
        """What a rule is given for one entry of `Call.args`."""
        if isinstance(argument, TensorSpec):
            value = self.module.deferred(
                lambda: self._read(argument), argument.sizes, argument.dtype
            )
            return value.seen(tuple(argument.strides))
        if isinstance(argument, NumberSpec):
            value = self.module.input(("number", argument.index), (), argument.dtype)
            return Value(lambda: value.ir, (), argument.dtype, is_number=argument.wrapped)
        if isinstance(argument, NumberListSpec):
            key = ("number", argument.index)
            return self.module.input(key, (argument.length,), argument.dtype)
        if isinstance(argument, list):
            return [self.argument(a) for a in argument]
        return argument

    def storage(self, spec: TensorSpec) -> tuple[Value, Value | int]:
        """All elements of a tensor's storage before the call, and where the tensor begins."""
        nbytes = self.specs[spec.base].nbytes
        flat = recipe.elements(self._value(spec.base), nbytes, spec.dtype)
        return _lazy_bits(flat, spec), self._view(spec).offset

    def write(self, spec: TensorSpec, value: Value) -> None:
        """Writes a logical value of the tensor's shape and dtype through its view."""
        self._writes[spec.base] += 1
        base = self._written.get(spec.base)
        base = self._value(spec.base) if base is None else base
        nbytes = self.specs[spec.base].nbytes
        self._written[spec.base] = recipe.write(
            base, nbytes, self._view(spec), _lazy_bits(value, spec)
        )

    def is_replaced_by(self, spec: TensorSpec) -> bool:
        """Whether the one write to a tensor's storage was that of the tensor, and of all of it."""
        if self._writes[spec.base] != 1 or spec.requires_offset or spec.conj or spec.neg:
            return False
        return recipe.covers(self._view(spec), self.specs[spec.base].nbytes)

    def updated(self) -> Iterator[tuple[int, Value]]:
        """(base, its new buffer) for every base that was written."""
        yield from self._written.items()

    def _read(self, spec: TensorSpec) -> Value:
        base, nbytes = self._value(spec.base), self.specs[spec.base].nbytes
        return _lazy_bits(recipe.read(base, nbytes, self._view(spec)), spec)

    def _value(self, index: int) -> Value:
        base = self.specs[index]
        if not base.initialized:
            make = lambda: hlo.full(base.shape, 0, base.dtype)  # noqa: E731
            return self.module.deferred(make, base.shape, base.dtype)
        return self.module.input(("base", index), base.shape, base.dtype)

    def _view(self, spec: TensorSpec) -> recipe.View:
        offset: Value | int = 0
        if spec.requires_offset:
            offset = self.module.input(("offset", spec.index), (), torch.int64)
        return recipe.View(spec.dtype, spec.sizes, spec.strides, offset, spec.box)


def _lazy_bits(value: Value, spec: TensorSpec) -> Value:
    """The conjugate and negative bits of a tensor, which undo themselves on writing."""
    value = hlo.conj(value) if spec.conj else value
    return hlo.neg(value) if spec.neg else value
