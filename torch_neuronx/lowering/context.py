"""The program being built on this thread: its run-time checks, random bits and locations.

`module.Module` owns the MLIR objects; this module is what rules see of them. Called by rules
(`check`), by `rng`, and by `graph`, which says which op is being lowered.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from torch_neuronx.lowering.hlo.bindings import context as mlir_context
from torch_neuronx.lowering.hlo.bindings import mlir
from torch_neuronx.lowering.value import LoweringError, Value

# MLIR's context is shared by all threads, so one program is built at a time.
_build_lock = threading.RLock()
_active = threading.local()


@dataclass(frozen=True)
class Check:
    """A condition found while the program runs: the launch raises `exception` when it failed."""

    exception: str
    message: str
    failed: Value
    value: Value
    leaves_target: bool


@dataclass
class Program:
    """What accumulates beside the ops themselves while one program, or a part of it, is built.

    `rng_start` is the (seed, offset) that its random bits start from, the program's input if None;
    `rng_used` is how far the offset has moved since. `is_backward`: it is a backward pass.
    """

    module: Any
    checks: list[Check] = field(default_factory=list)
    rng_used: int = 0
    rng_start: Value | None = None
    is_backward: bool = False


def current() -> Program:
    program = getattr(_active, "program", None)
    if program is None:
        raise LoweringError("no program is being built on this thread")
    return program


@contextlib.contextmanager
def building(program: Program) -> Iterator[Program]:
    """Makes `program` the current one and MLIR's context the active one."""
    with _build_lock, mlir_context(), mlir().ir.Location.unknown():
        outer = getattr(_active, "program", None)
        _active.program = program
        try:
            yield program
        finally:
            _active.program = outer


@contextlib.contextmanager
def part(rng_start: Value | None = None) -> Iterator[Program]:
    """Keeps what is checked and drawn inside apart from the program around it, which goes on from
    there as it sees fit. Bits are drawn from `rng_start` on, else from where they are drawn now.
    """
    outer = current()
    inner = replace(outer, checks=[])
    if rng_start is not None:
        inner = replace(inner, rng_used=0, rng_start=rng_start)
    _active.program = inner
    try:
        yield inner
    finally:
        _active.program = outer


@contextlib.contextmanager
def location(name: str, file: str | None = None, line: int = 0) -> Iterator[None]:
    """Ops built inside carry the ATen op's name and, when known, the user's file and line."""
    ir = mlir().ir
    child = ir.Location.file(file, line, 0) if file else None
    with ir.Location.name(name, childLoc=child):
        yield


def check(
    failed: Value,
    exception: str,
    message: str,
    value: Value | None = None,
    *,
    leaves_target: bool = False,
) -> None:
    """Raises `exception` at the launch if `failed` (0-d bool) is true.

    `message` may have one `{}`, which `value` (0-d int64) fills. `leaves_target` promises that a
    failed check makes the new value of what the op writes equal to the old one; without it the
    program may not write into the old one's memory. Inside a region only where `regions` made it.
    """
    from torch_neuronx.lowering.hlo import full

    if failed.shape != () or failed.dtype != torch.bool:
        raise LoweringError(f"a check takes a 0-d bool, got {failed}")
    shown = full((), 0, torch.int64) if value is None else value
    if shown.shape != () or shown.dtype != torch.int64:
        raise LoweringError(f"a check shows a 0-d int64, got {shown}")
    current().checks.append(Check(exception, message, failed, shown, leaves_target))
