"""A program's results in order, with what C++ is to do with each: see `program.Launch`.

Called by `plan` for one op and by `compile` for a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_neuronx.eager.bases import Bases
from torch_neuronx.lowering import hlo, recipe
from torch_neuronx.lowering.value import Value


class Placement:
    """Collects the program's results in order, with what C++ is to do with each."""

    def __init__(self, bases: Bases) -> None:
        self.bases = bases
        self.values: list[Value] = []
        self.results: list[tuple[Any, ...]] = []

    def fresh(self, value: Any, meta: Any) -> tuple[Any, ...]:
        if isinstance(value, Value):
            return self.new(value, tuple(meta.stride()))
        if isinstance(value, (list, tuple)):
            return ("list", [self.fresh(v, m) for v, m in zip(value, meta, strict=True)])
        return ("none",) if meta is None else ("value", meta)

    def writes(self) -> dict[tuple[Any, ...], int]:
        """Adds the new buffer of each written base; says which result may take whose buffer."""
        donated = {}
        for index, value in self.bases.updated():
            donated["base", index] = len(self.values)
            self._add(value, ("write", index, value.dtype, value.shape))
        return donated

    def checks(self, checks: Sequence[Any]) -> None:
        if checks:
            flat = [
                hlo.reshape(hlo.convert(v, torch.int64), (1,))
                for c in checks
                for v in (c.failed, c.value)
            ]
            self._add(hlo.concat(flat, 0), ("check",))

    def new(self, value: Value, strides: tuple[int, ...]) -> tuple[Any, ...]:
        """A new tensor of the value's shape and these strides."""
        buffer = recipe.fresh(value, strides)
        self._add(buffer, ("new", value.dtype, value.shape, strides, buffer.shape))
        return ("result", len(self.values) - 1)

    def _add(self, value: Value, result: tuple[Any, ...]) -> None:
        self.values.append(value)
        self.results.append(result)
