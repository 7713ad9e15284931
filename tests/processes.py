"""Processes that do one job after the other: a crash or a hang costs a job, not the run.

For the runners of `contract` and `fuzz`, whose `workers` say what a job is.
"""

from __future__ import annotations

import math
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Service:
    """`serve(pipe)` runs in the process: it sends "ready", then an outcome for each job that it
    receives. `lost(job, verdict, detail)` is the outcome of a job that ended the process or took
    too long. `start`: seconds that the process may take to be ready.
    """

    serve: Callable[[Any], None]
    lost: Callable[[Any, str, str], dict[str, Any]]
    start: float


def run_all(
    jobs: Iterable[Any],
    service: Service,
    workers: int,
    timeout: float,
    done: Callable[[Any, dict[str, Any]], None],
    seconds: float | None = None,
) -> None:
    """Calls `done(job, outcome)` for each job, from one thread at a time.

    `timeout`: seconds for a job; after `seconds`, if given, no job is started.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    lock = threading.Lock()

    def serve() -> None:
        worker = Worker(service)
        while not waiting.empty() and time.monotonic() < end:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                break
            outcome = worker.run(job, timeout)
            with lock:
                done(job, outcome)
        worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Worker:
    """A process, made anew after a crash or a timeout."""

    def __init__(self, service: Service):
        self._service = service
        self._process: Any = None
        self._pipe: Any = None

    def run(self, job: Any, timeout: float) -> dict[str, Any]:
        if self._process is None:
            self._start()
        self._pipe.send(job)
        try:
            if self._pipe.poll(timeout):
                return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(10)
            return self._lost(job, "crash", f"the process ended ({self._process.exitcode})")
        return self._lost(job, "timeout", f"not done within {timeout:.0f} s")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=self._service.serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(self._service.start) or self._pipe.recv() != "ready":
            raise RuntimeError("a worker did not start")

    def _lost(self, job: Any, verdict: str, detail: str) -> dict[str, Any]:
        self.stop()
        return self._service.lost(job, verdict, detail)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
