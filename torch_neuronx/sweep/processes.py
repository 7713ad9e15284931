"""Processes that do one job after the other: a crash or a hang costs a job, not the run.

For the sweep, and for the tests' runners of random programs and of PyTorch's operators.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOOK = 0.25  # seconds between looks at a process's memory
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Service:
    """`serve(pipe)` runs in the process: it sends "ready", then an outcome for each job that it
    receives. `lost(job, kind, detail)` is the outcome of a job that ended the process ("crash") or
    went beyond a limit ("timeout", "memory"). `start`: seconds that the process may take to be
    ready. After `jobs` of them a process is replaced.
    """

    serve: Callable[[Any], None]
    lost: Callable[[Any, str, str], dict[str, Any]]
    start: float
    jobs: float = math.inf


@dataclass(frozen=True)
class Limits:
    """Of a job: `seconds`, and `bytes` of resident memory of its process. After `total` seconds no
    job is started.
    """

    seconds: float
    bytes: float = math.inf
    total: float = math.inf


def run_all(
    jobs: Iterable[Any],
    service: Service,
    workers: int,
    limits: Limits,
    done: Callable[[Any, dict[str, Any]], None],
) -> None:
    """Calls `done(job, outcome)` for each job, from one thread at a time."""
    end = time.monotonic() + limits.total
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    lock = threading.Lock()

    def serve() -> None:
        worker = Worker(service, limits)
        while not waiting.empty() and time.monotonic() < end:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                break
            outcome = worker.run(job)
            with lock:
                done(job, outcome)
        worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Worker:
    """A process, made anew after a crash, a limit, or as many jobs as it may do."""

    def __init__(self, service: Service, limits: Limits):
        self._service = service
        self._limits = limits
        self._process: Any = None
        self._pipe: Any = None
        self._jobs = 0

    def run(self, job: Any) -> dict[str, Any]:
        if self._jobs >= self._service.jobs or self._is_full():
            self.stop()
        if self._process is None:
            self._start()
        self._jobs += 1
        self._pipe.send(job)
        limits = self._limits
        end = time.monotonic() + limits.seconds
        try:
            while not self._pipe.poll(_LOOK):
                if time.monotonic() > end:
                    return self._lost(job, "timeout", f"not done within {limits.seconds:.0f} s")
                if _resident(self._process.pid) > limits.bytes:
                    most = int(limits.bytes) >> 20
                    return self._lost(job, "memory", f"more than {most} MiB resident")
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(10)
            return self._lost(job, "crash", f"the process ended ({self._process.exitcode})")

    def _is_full(self) -> bool:
        """Whether what earlier jobs left in the process would count against the next one."""
        return self._process is not None and _resident(self._process.pid) > self._limits.bytes / 2

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=self._service.serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._jobs = 0
        if not self._pipe.poll(self._service.start) or self._pipe.recv() != "ready":
            raise RuntimeError("a worker did not start")

    def _lost(self, job: Any, kind: str, detail: str) -> dict[str, Any]:
        self.stop()
        return self._service.lost(job, kind, detail)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
