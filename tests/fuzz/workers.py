"""The processes that run the programs of seeds."""

from __future__ import annotations

import functools
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from torch_neuronx.sweep import processes

START = 300.0  # seconds that a process may take to import torch


def run_all(
    seeds: Iterable[int], workers: int, timeout: float, compiled_every: int, done: Callable
) -> None:
    """Calls `done(outcome)` for each seed, from one thread at a time."""
    serve = functools.partial(_serve, compiled_every=compiled_every)
    service = processes.Service(serve, _lost, START)
    limits = processes.Limits(timeout)
    processes.run_all(seeds, service, workers, limits, lambda _seed, outcome: done(outcome))


def _lost(seed: int, verdict: str, detail: str) -> dict[str, Any]:
    return {"seed": seed, "verdict": verdict, "detail": detail, "program": f"of seed {seed}"}


def _serve(pipe: Any, compiled_every: int) -> None:
    import torch

    torch.set_num_threads(1)
    # The device's compiler takes denormal numbers for zero: so does the CPU here.
    torch.set_flush_denormal(True)
    pipe.send("ready")
    while True:
        seed = pipe.recv()
        try:
            pipe.send(outcome(seed, compiled_every))
        except Exception:  # a fault of the fuzzer
            detail = traceback.format_exc()
            pipe.send({"seed": seed, "verdict": "fault", "detail": detail, "program": ""})


def outcome(seed: int, compiled_every: int) -> dict[str, Any]:
    """What became of a program: verdict "agreed" or the kind of mismatch, and the shortest code."""
    from . import compiled, eager
    from .comparison import Mismatch
    from .programs import generate
    from .shrink import shrink

    begin, program = time.perf_counter(), generate(seed)
    found: dict[str, Any] = {"seed": seed, "verdict": "agreed"}
    found["statements"] = len(program.statements)
    ways = [(eager.run, str)]
    if compiled_every and seed % compiled_every == 0:
        ways.append((compiled.run, compiled.printed))
        found["compiled"] = True
    for run, printed in ways:
        try:
            run(program)
        except Mismatch as mismatch:
            shortest = shrink(program, run)
            found |= {"verdict": mismatch.kind, "way": run.__module__.rpartition(".")[2]}
            found |= {"detail": str(mismatch), "program": printed(shortest)}
            found["statement"] = mismatch.statement.source if mismatch.statement else ""
            break
    found["seconds"] = round(time.perf_counter() - begin, 3)
    return found
