"""One row of the grammar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .slots import Slot


@dataclass(frozen=True)
class Op:
    """`template` is code with a place for each slot, by position.

    `writes` is the number of the slot whose tensor the code writes; such a statement has no other
    result. `accumulates` says that terms are added in an order which PyTorch does not promise, so
    that the error grows with their number, `dynamic` that the result's shape depends on data.
    `guard` gets the tensors drawn, and refuses values for which the result is not defined.
    """

    template: str
    slots: tuple[Slot, ...]
    writes: int | None = None
    accumulates: bool = False
    dynamic: bool = False
    guard: Callable[..., bool] | None = None


@dataclass(frozen=True)
class Group:
    """Operators drawn equally often; `weight` is the share of the group."""

    weight: int
    ops: tuple[Op, ...]


def each(names: str, template: str, *slots: Slot, **more) -> tuple[Op, ...]:
    """A row for each of the names, which takes the place of NAME in the template."""
    return tuple(Op(template.replace("NAME", name), slots, **more) for name in names.split())
