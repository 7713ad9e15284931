"""Processes that run the programs of seeds: a crash or a hang costs one program, not the run."""

from __future__ import annotations

import multiprocessing
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

START = 300.0  # seconds that a process may take to import torch


def run_all(
    seeds: Iterable[int], workers: int, timeout: float, compiled_every: int, done: Callable
) -> None:
    """Calls `done(outcome)` for each seed, from one thread at a time."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    lock = threading.Lock()

    def serve() -> None:
        worker = Worker(compiled_every)
        while not waiting.empty():
            try:
                seed = waiting.get_nowait()
            except queue.Empty:
                break
            outcome = worker.run(seed, timeout)
            with lock:
                done(outcome)
        worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Worker:
    """A process, made anew after a crash or a timeout."""

    def __init__(self, compiled_every: int):
        self._compiled_every = compiled_every
        self._process: Any = None
        self._pipe: Any = None

    def run(self, seed: int, timeout: float) -> dict[str, Any]:
        if self._process is None:
            self._start()
        self._pipe.send(seed)
        try:
            if self._pipe.poll(timeout):
                return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(10)
            return self._lost(seed, "crash", f"the process ended ({self._process.exitcode})")
        return self._lost(seed, "timeout", f"not done within {timeout:.0f} s")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._compiled_every), daemon=True
        )
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START) or self._pipe.recv() != "ready":
            raise RuntimeError("a worker did not start")

    def _lost(self, seed: int, verdict: str, detail: str) -> dict[str, Any]:
        self.stop()
        return {"seed": seed, "verdict": verdict, "detail": detail, "program": f"of seed {seed}"}

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


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
