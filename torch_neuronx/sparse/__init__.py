"""Sparse tensors on the device: what PyTorch's own kernels, which compose, leave to a backend.

A sparse tensor is made of strided ones, its indices and values. Most of PyTorch's kernels for it
are operators on those and suit any device (csrc/dispatch/layouts.cpp calls them); the others look
into memory and have counterparts here, each a few programs on indices and values. Nothing is made
dense, and the host reads numbers only where a shape depends on data. Called by the C++ core, once
an operator; importing torch does not import this package. docs/sparse.md is the user's view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch._ops import OpOverload


def kernel(op: OpOverload, layout: str) -> Callable[..., Any] | None:
    """Our kernel of `op` for tensors of `layout`, called with all arguments in the schema's order;
    None where PyTorch's own, composed of operators on strided tensors, suits any device."""
    from torch_neuronx.sparse import registry

    return registry.kernel(op, layout)
