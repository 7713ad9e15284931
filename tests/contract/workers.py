"""Processes that run checks: a crash or a hang costs one case, not the run."""

from __future__ import annotations

import math
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .ledger import Case

START = 180.0  # seconds that a process may take to import PyTorch's descriptions
Job = Callable[[Case, dict[str, Any]], None]


@dataclass(frozen=True)
class Limits:
    """`timeout`: seconds for a case; `samples` of it; `seconds` after which no case is started."""

    timeout: float
    samples: int | None = None
    seconds: float | None = None


def run_all(cases: Iterable[Case], workers: int, limits: Limits, done: Job) -> None:
    """Calls `done(case, outcome)` for each case, from one thread at a time."""
    end = math.inf if limits.seconds is None else time.monotonic() + limits.seconds
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    lock = threading.Lock()

    def serve() -> None:
        worker = Worker(limits.samples)
        while not waiting.empty() and time.monotonic() < end:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                break
            outcome = worker.run(case, limits.timeout)
            with lock:
                done(case, outcome)
        worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Worker:
    """A process, made anew after a crash or a timeout."""

    def __init__(self, limit: int | None):
        self._limit = limit
        self._process: Any = None
        self._pipe: Any = None

    def run(self, case: Case, timeout: float) -> dict[str, Any]:
        if self._process is None:
            self._start()
        self._pipe.send(case)
        try:
            if self._pipe.poll(timeout):
                return self._pipe.recv()
        except (EOFError, OSError):
            return self._lost("crash", f"the process ended ({self._code()})")
        return self._lost("timeout", f"not done within {timeout:.0f} s")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._limit), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START) or self._pipe.recv() != "ready":
            raise RuntimeError("a worker did not start")

    def _code(self) -> int | None:
        self._process.join(10)
        return self._process.exitcode

    def _lost(self, verdict: str, detail: str) -> dict[str, Any]:
        self.stop()
        return {
            "verdict": verdict,
            "samples": 0,
            "host": {},
            "remarks": {},
            "failures": [(0, verdict, detail)],
        }

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Any, limit: int | None) -> None:
    import logging
    import warnings

    import torch

    from .checks import check
    from .databases import operators

    warnings.simplefilter("ignore")
    torch._logging.set_logs(dynamo=logging.ERROR)  # graph breaks are remarks
    torch.set_num_threads(1)
    operators()
    pipe.send("ready")
    while True:
        case = pipe.recv()
        operator = operators(case.database)[case.op]
        pipe.send(check(operator, getattr(torch, case.dtype), case.mode, limit).as_dict())
