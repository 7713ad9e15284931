"""The operators that PyTorch describes with sample inputs, in one form for the checks.

A database is a function that returns Operators, all samples of which are CPU tensors. To add one
is to write such a function and name it in DATABASES.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Sample:
    """One call. `differentiable` picks from its result what a backward pass may start from.

    `random` says that the numbers of its result depend on the generator. `steps` is a tensor of the
    dtype that it computes in, where that is a coarser one than those of its arguments. `lanes` is
    how many leading dimensions its tensors have that the call does not count.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: Callable[[Any], Any] = lambda result: result
    broadcasts_input: bool = False
    random: bool = False
    steps: torch.Tensor | None = None
    lanes: int = 0


@dataclass(frozen=True)
class Operator:
    """`dtypes` and `backward_dtypes` are those that PyTorch's CPU kernels have.

    `samples(dtype, requires_grad)` yields Samples, `errors()` calls that must raise; the
    positional arguments numbered in `host` are CPU tensors on every device. `restored` is
    `function` by way of a state_dict that was saved and loaded half way. `traced_steps` is a
    sample's `steps` under torch.compile.
    """

    name: str
    function: Callable[..., Any]
    samples: Callable[[torch.dtype, bool], Iterator[Sample]]
    dtypes: frozenset[torch.dtype]
    backward_dtypes: frozenset[torch.dtype] = frozenset()
    inplace: Callable[..., Any] | None = None
    restored: Callable[..., Any] | None = None
    has_out: bool = False
    has_gradgrad: bool = False
    has_jvp: bool = False
    errors: Callable[[], Iterator[Sample]] | None = None
    host: frozenset[int] = frozenset()
    traced_steps: torch.Tensor | None = None


# Database -> module and function. Imported when asked for: PyTorch takes seconds to describe them.
DATABASES = {
    "op": ("opinfos", "ops"),
    "fft": ("opinfos", "spectral"),
    "refs": ("opinfos", "references"),
    "foreach": ("opinfos", "foreach"),
    "hop": ("opinfos", "higher_order"),
    "custom_op": ("opinfos", "custom_ops"),
    "sparse_coo": ("opinfos", "sparse_coo"),
    "sparse_csr": ("opinfos", "sparse_csr"),
    "module": ("modules", "modules"),
    "optimizer": ("optimizers", "optimizers"),
}


@functools.cache
def operators(database: str = "op") -> dict[str, Operator]:
    """The database's operators by name, in PyTorch's order."""
    module, function = DATABASES[database]
    make = getattr(importlib.import_module(f".{module}", __package__), function)
    return {operator.name: operator for operator in make()}
