"""A program's results in order, with what C++ is to do with each: see `program.Launch`.

Called by `plan` for one op and by `compile` for a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_neuronx.eager.bases import Bases
from torch_neuronx.lowering import hlo, recipe
from torch_neuronx.lowering.counted import Counted, packed
from torch_neuronx.lowering.value import Value


class Placement:
    """Collects the program's results in order, with what C++ is to do with each."""

    def __init__(self, bases: Bases) -> None:
        self.bases = bases
        self.values: list[Value] = []
        self.results: list[tuple[Any, ...]] = []
        self._counts: list[Value] = []

    def fresh(self, value: Any, meta: Any) -> tuple[Any, ...]:
        if isinstance(value, Value):
            return self.new(value, tuple(meta.stride()))
        if isinstance(value, Counted):
            return self._counted(value, tuple(meta.stride()))
        if isinstance(value, (list, tuple)):
            return ("list", [self.fresh(v, m) for v, m in zip(value, meta, strict=True)])
        if value is None:  # also where PyTorch would give a tensor: what `output_mask` leaves out
            return ("none",)
        return ("value", meta)

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

    def _counted(self, result: Counted, strides: tuple[int, ...]) -> tuple[Any, ...]:
        """A new tensor of which the program tells one size."""
        value = result.value
        # Its own size of 1 may stand for any: the stride of the other dimensions follows it.
        order = sorted(range(value.ndim), key=lambda d: -strides[d])
        buffer = packed(result, order)
        if not any(count is result.count for count in self._counts):
            self._counts.append(result.count)
        (which,) = (k for k, count in enumerate(self._counts) if count is result.count)
        counted = (result.dim, which, tuple(order))
        self._add(buffer, ("new", value.dtype, value.shape, strides, buffer.shape, counted))
        return ("result", len(self.values) - 1)

    def add_counts(self) -> None:
        """The sizes that depend on the data, if there are any, as one result."""
        if self._counts:
            counts = [hlo.reshape(count, (1,)) for count in self._counts]
            self._add(hlo.concat(counts, 0), ("counts", len(counts)))

    def _add(self, value: Value, result: tuple[Any, ...]) -> None:
        self.values.append(value)
        self.results.append(result)
