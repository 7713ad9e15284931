"""Kernels in Python for tensors of other layouts than strided: by operator and layout.

Such a tensor is made of strided ones, and most of PyTorch's kernels for it are operators on those,
which suit any device; csrc/dispatch/layouts.cpp calls them. The others look into memory and have
counterparts in torch_neuronx/sparse and torch_neuronx/nested. Called by the C++ core, once an
operator; importing torch does not import this module.

A kernel is called with all arguments of its operator's schema, in order. It is given what PyTorch
gives a kernel of that layout: any of its tensor arguments may be of another one.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

from torch._ops import OpOverload

LAYOUTS = ("sparse_coo", "sparse_compressed", "nested", "strided")
_MODULES = (
    "nested.fast_paths",
    "nested.normalization",
    "sparse.addition",
    "sparse.conversion",
    "sparse.coalescing",
    "sparse.compressed",
    "sparse.compressed_reduction",
    "sparse.intersection",
    "sparse.matmul",
    "sparse.refusals",
    "sparse.sampled",
    "sparse.selection",
    "sparse.softmax",
    "sparse.summation",
)
Kernel = Callable[..., Any]
_kernels: dict[tuple[OpOverload, str], Kernel] = {}
_load_lock = threading.RLock()
_loaded = False


def computes(layout: str, *ops: OpOverload) -> Callable[[Kernel], Kernel]:
    """Decorator: the function is the kernel of each of `ops` for tensors of `layout`."""

    def register(function: Kernel) -> Kernel:
        for op in ops:
            if layout not in LAYOUTS or (op, layout) in _kernels:
                raise ValueError(f"{op} has two kernels for {layout}, or there is no such layout")
            _kernels[op, layout] = function
        return function

    return register


def kernel(op: OpOverload, layout: str) -> Kernel | None:
    """Ours; None where PyTorch's own kernel suits any device."""
    _load()
    return _kernels.get((op, layout))


def _load() -> None:
    global _loaded
    with _load_lock:
        if not _loaded:
            for name in _MODULES:
                importlib.import_module(f"torch_neuronx.{name}")
            _loaded = True
