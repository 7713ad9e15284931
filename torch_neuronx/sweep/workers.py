"""Processes that check one architecture after the other, each within a time and a memory limit.

A process imports the libraries once. One that crashes, hangs or grows too large costs the model
that it was on, which is a result, and is followed by another.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_neuronx.sweep.causes import BACKEND, Failure

START = 180.0  # seconds that a process may take to import the libraries
_LOOK = 0.25  # seconds between looks at a process's memory
_JOBS = 60  # after which a process is replaced: compiled programs stay in its memory
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Limits:
    """Of one architecture: `seconds`, and resident `bytes` of the process that checks it."""

    seconds: float
    bytes: int


Serve = Callable[[Any], None]  # sends "ready", then a record for each job that it receives
Done = Callable[[Any, dict[str, Any]], None]


def run_all(jobs: Iterable[Any], serve: Serve, workers: int, limits: Limits, done: Done) -> None:
    """Calls `done(job, record)` for each job, from one thread at a time."""
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(serve, limits)
        try:
            while True:
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    return
                record = worker.run(job)
                with lock:
                    done(job, record)
        finally:
            worker.stop()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Worker:
    """A process, made anew after a crash, a limit, or many jobs."""

    def __init__(self, serve: Serve, limits: Limits):
        self._serve = serve
        self._limits = limits
        self._process: Any = None
        self._pipe: Any = None
        self._jobs = 0

    def run(self, job: Any) -> dict[str, Any]:
        if self._jobs >= _JOBS:
            self.stop()
        if self._process is None:
            self._start()
        self._jobs += 1
        self._pipe.send(job)
        end = time.monotonic() + self._limits.seconds
        try:
            while not self._pipe.poll(_LOOK):
                if time.monotonic() > end:
                    return self._lost("timeout", f"not done within {self._limits.seconds:.0f} s")
                if resident(self._process.pid) > self._limits.bytes:
                    return self._lost(
                        "memory", f"more than {self._limits.bytes >> 20} MiB resident"
                    )
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(10)
            return self._lost("crash", f"the process ended ({self._process.exitcode})")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=self._serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._jobs = 0
        if not self._pipe.poll(START) or self._pipe.recv() != "ready":
            raise RuntimeError("a worker of the sweep did not start")

    def _lost(self, kind: str, message: str) -> dict[str, Any]:
        self.stop()
        return {
            "checks": {},
            "ran": [],
            "failures": [Failure("process", BACKEND, kind, message).as_dict()],
        }

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
