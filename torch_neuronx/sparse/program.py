"""Operators of our own that are one program each, written in ATen operators.

Launched one by one, the steps of a sparse product would each write their result to memory. As an
operator with a decomposition they are traced together and compiled as one program, under the same
keys and caches as every other. Shapes of results must not depend on data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import register_decomposition
from torch._ops import OpOverload

_library = torch.library.Library("neuron", "FRAGMENT")


def program(schema: str) -> Callable[[Callable[..., Any]], OpOverload]:
    """Decorator: the function, in terms of ATen operators, becomes `neuron::<schema>`."""

    def define(function: Callable[..., Any]) -> OpOverload:
        name = schema.split("(")[0]
        _library.define(schema)
        for key in ("CPU", "Meta"):
            _library.impl(name, function, key)
        op = getattr(torch.ops.neuron, name).default
        register_decomposition(op)(function)
        return op

    return define
