"""The operators that PyTorch describes with sample inputs, in one form for the checks.

A database is a function that returns Operators, all samples of which are CPU tensors. To add one
(modules, optimizers) is to write such a function and name it in DATABASES.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.testing._internal.common_utils import set_rng_seed

OPINFO = "torch.testing._internal.common_methods_invocations"


@dataclass(frozen=True)
class Sample:
    """One call. `differentiable` picks from its result what a backward pass may start from."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: Callable[[Any], Any] = lambda result: result
    broadcasts_input: bool = False


@dataclass(frozen=True)
class Operator:
    """`dtypes` and `backward_dtypes` are those that PyTorch's CPU kernels have.

    `samples(dtype, requires_grad)` yields Samples, `errors()` calls that must raise; the
    positional arguments numbered in `host` are CPU tensors on every device.
    """

    name: str
    function: Callable[..., Any]
    samples: Callable[[torch.dtype, bool], Iterator[Sample]]
    dtypes: frozenset[torch.dtype]
    backward_dtypes: frozenset[torch.dtype] = frozenset()
    inplace: Callable[..., Any] | None = None
    has_out: bool = False
    errors: Callable[[], Iterator[Sample]] | None = None
    host: frozenset[int] = frozenset()


# Positional arguments that PyTorch wants on the CPU whatever the device: they decide shapes.
HOST_ARGUMENTS = {"tensor_split": frozenset({1})}


def _of_opinfo(info: Any) -> Operator:
    return Operator(
        name=info.full_name,
        function=info.op,
        samples=functools.partial(_samples, info),
        dtypes=frozenset(info.supported_dtypes("cpu")),
        backward_dtypes=_backward_dtypes(info),
        inplace=info.get_inplace(),
        has_out=info.supports_out,
        errors=functools.partial(_errors, info) if info.error_inputs_func else None,
        host=HOST_ARGUMENTS.get(info.full_name, frozenset()),
    )


def _backward_dtypes(info: Any) -> frozenset[torch.dtype]:
    if not info.supports_autograd:
        return frozenset()
    return frozenset(info.supported_backward_dtypes("cpu"))


def _samples(info: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Sample]:
    set_rng_seed(0)
    for sample in info.sample_inputs("cpu", dtype, requires_grad=requires_grad):
        yield _sample(sample)


def _errors(info: Any) -> Iterator[Sample]:
    set_rng_seed(0)
    for error in info.error_inputs("cpu"):
        yield _sample(error.sample_input)


def _sample(sample: Any) -> Sample:
    return Sample(
        (sample.input, *sample.args),
        sample.kwargs,
        sample.output_process_fn_grad,
        sample.broadcasts_input,
    )


def _opinfos(*lists: str) -> list[Operator]:
    module = importlib.import_module(OPINFO)
    return [_of_opinfo(info) for name in lists for info in getattr(module, name)]


# Imported when asked for: PyTorch takes seconds to build its descriptions.
DATABASES: dict[str, Callable[[], list[Operator]]] = {
    "op": functools.partial(_opinfos, "op_db"),
}


@functools.cache
def operators(database: str = "op") -> dict[str, Operator]:
    """The database's operators by name, in PyTorch's order."""
    return {operator.name: operator for operator in DATABASES[database]()}
