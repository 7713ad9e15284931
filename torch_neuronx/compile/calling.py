"""How AOTAutograd calls what it is given: with a list of arguments, which the callee empties, so
that the list does not keep tensors alive that are not needed any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

Run = Callable[[list[Any]], Any]


def boxed(run: Run) -> Run:
    """`run` as a function that is marked as being called so."""

    def call(args: list[Any]) -> Any:
        return run(args)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def op_by_op(module: nn.Module) -> Run:
    """A graph as it stands, its ops called one after the other."""

    def run(args: list[Any]) -> Any:
        taken = list(args)
        args.clear()
        return module(*taken)

    return run
