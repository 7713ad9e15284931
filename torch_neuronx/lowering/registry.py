"""The one table of rules: which function lowers which ATen op.

A rule is `rule(out, *args, **kwargs)`: `out` is the `Meta` of the result (a tuple of them for
several results), then come the schema's arguments, keyword-only ones by keyword. Tensor arguments
are `Value`s; run-time numbers are 0-d `Value`s with `is_number`, or plain Python numbers. All
arguments of the schema are passed, except generators and those in `DROPPED`, which concern
placement only.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload

from torch_neuronx.lowering.value import LoweringError

DROPPED = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking"})


@dataclass(frozen=True)
class Rule:
    """How one op is lowered. `runtime` names the number arguments that are program inputs; `module`
    is the one that declares the rule, which a helper of another may have made."""

    op: OpOverload
    function: Callable[..., Any]
    runtime: tuple[str, ...]
    passed: tuple[tuple[str, bool, bool, Any], ...]  # (name, keyword-only, has default, default)
    module: str = ""


_rules: dict[OpOverload, Rule] = {}
_host: dict[OpOverload, str] = {}
_higher_order: dict[HigherOrderOperator, Callable[..., Any]] = {}
_inference: dict[OpOverload, Callable[..., Any]] = {}
_bounds: dict[OpOverload, Callable[..., Any]] = {}
_cpu_forms: dict[OpOverload, Callable[..., Any] | None] = {}
_accelerator_only: set[OpOverload] = set()
_foreign = hashlib.blake2b(digest_size=8)
_load_lock = threading.RLock()
_loaded = False
# Other libraries whose operators have rules, in a folder of that name, which is imported when one
# of them is met: the library has declared them by then, and is never imported for them.
_LIBRARIES = frozenset({"torchvision"})
_loaded_libraries: set[str] = set()


def lowers(
    *ops: OpOverload, runtime: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the rule of each of `ops`."""
    names = tuple(runtime)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            _add(op, function, names)
        return function

    return register


def lowers_higher_order(
    *ops: HigherOrderOperator,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the rule of higher-order operators, those that call graphs.

    It is called as `rule(run, out, *args, **kwargs)`; `run(graph, inputs)` gives the results of a
    graph among its arguments.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            _higher_order[op] = function
        return function

    return register


def infers(
    *ops: OpOverload,
    without_cpu_kernel: bool = False,
    cpu_form: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function, called as `ops` are but on fake CPU tensors, gives their results.

    For ops whose meta kernel PyTorch lacks or whose meta kernel differs from its CPU kernel.
    `without_cpu_kernel`: the ops exist for accelerators only. `cpu_form`, called as they are, does
    the same on the CPU and knows its errors, those that depend on data left out.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            _inference[op] = function
            if without_cpu_kernel:
                _accelerator_only.add(op)
            if without_cpu_kernel or cpu_form is not None:
                _cpu_forms[op] = cpu_form
        return function

    return register


def bounds(*ops: OpOverload) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function, called as `ops` are but on meta tensors, gives their results with
    room for the largest sizes that the data may ask for, or None where a call's sizes do not depend
    on data. The rules of `ops` return `Counted` values in them.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            _bounds[op] = function
        return function

    return register


def bound(op: OpOverload) -> Callable[..., Any] | None:
    _load_for(op)
    return _bounds.get(op)


def inference(op: OpOverload) -> Callable[..., Any]:
    """What to run on fake tensors for the metadata of `op`'s results: mostly `op` itself."""
    _load_for(op)
    return _inference.get(op, op)


def cpu_form(op: OpOverload) -> Callable[..., Any] | None:
    """What does the same as `op` on the CPU: mostly `op` itself."""
    _load_for(op)
    return _cpu_forms.get(op, op)


def has_cpu_kernel(op: OpOverload) -> bool:
    _load_for(op)
    return op not in _accelerator_only


def runs_on_host(*ops: OpOverload, reason: str) -> None:
    """Declares that `ops` have no sensible program: the reason is shown to the user."""
    for op in ops:
        if op in _rules or op in _host:
            raise LoweringError(f"{op} has two declarations")
        _host[op] = reason


def rule(op: OpOverload) -> Rule | None:
    _load_for(op)
    return _rules.get(op)


def higher_order_rule(op: HigherOrderOperator) -> Callable[..., Any] | None:
    load()
    return _higher_order.get(op)


def host_reason(op: OpOverload) -> str | None:
    _load_for(op)
    return _host.get(op)


def foreign_rules() -> str:
    """A hash of the rules that users of the package have declared, part of every key."""
    return _foreign.hexdigest()


def rules() -> dict[OpOverload, Rule]:
    """A copy of the table, for the coverage page and the decomposition table."""
    load()
    return dict(_rules)


def load() -> None:
    """Imports every rule file once, but those of other libraries' operators."""
    global _loaded
    if _loaded:
        return
    with _load_lock:
        if not _loaded:
            _import_files(__package__)
            _loaded = True


def _load_for(op: OpOverload) -> None:
    load()
    library = op.namespace
    if library in _LIBRARIES and library not in _loaded_libraries:
        with _load_lock:
            if library not in _loaded_libraries:
                _import_files(f"{__package__}.{library}")
                _loaded_libraries.add(library)


def _import_files(package: str) -> None:
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{found.name}")


def _add(op: OpOverload, function: Callable[..., Any], runtime: tuple[str, ...]) -> None:
    if not isinstance(op, OpOverload):
        raise LoweringError(f"{op} is not an overload: name one, such as {op}.default")
    if op in _rules or op in _host:
        raise LoweringError(f"{op} has two declarations")
    if not (function.__module__ or "").startswith(f"{__package__}."):
        code = function.__code__
        _foreign.update(f"{op} {runtime} {code.co_code!r} {code.co_consts!r}".encode())
    names = {argument.name for argument in op._schema.arguments}
    unknown = [name for name in runtime if name not in names]
    if unknown:
        raise LoweringError(f"{op} has no argument {unknown[0]!r} to be a run-time number")
    _rules[op] = Rule(op, function, runtime, _passed(op), _module_being_run())


def _module_being_run() -> str:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else frame.f_globals.get("__name__", "")


def _passed(op: OpOverload) -> tuple[tuple[str, bool, bool, Any], ...]:
    return tuple(
        (a.name, a.kwarg_only, a.has_default_value(), a.default_value)
        for a in op._schema.arguments
        if not is_dropped(a)
    )


def is_dropped(argument: torch.Argument) -> bool:
    """Whether an argument concerns placement or a generator, not the value computed."""
    if "Generator" in str(argument.type):
        return True
    return argument.kwarg_only and argument.name in DROPPED
