"""Makes a failing program shorter: removes statements as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable

from .comparison import Mismatch
from .programs import Program

Run = Callable[[Program], None]


def kind_of_failure(program: Program, run: Run) -> str:
    """The kind of the Mismatch that `run` raises, "" for none."""
    try:
        run(program)
    except Mismatch as mismatch:
        return mismatch.kind
    return ""


def shrink(program: Program, run: Run) -> Program:
    """The shortest program found; each statement goes with those that depend on it."""
    kind = kind_of_failure(program, run)
    if not kind:
        return program
    shorter = True
    while shorter:
        shorter = False
        for statement in reversed(program.statements):
            candidate = program.without(statement)
            if candidate.statements and kind_of_failure(candidate, run) == kind:
                program, shorter = candidate, True
                break
    return program
