"""The processes that check architectures, each within a time and a memory limit.

A process imports the libraries once. One that crashes, hangs or grows too large costs the model
that it was on, which is a result, and is followed by another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch_neuronx.sweep import processes
from torch_neuronx.sweep.causes import BACKEND, Failure
from torch_neuronx.sweep.processes import Limits

START = 180.0  # seconds that a process may take to import the libraries
_JOBS = 60  # of a process: compiled programs stay in its memory

Serve = Callable[[Any], None]  # sends "ready", then a record for each job that it receives
Done = Callable[[Any, dict[str, Any]], None]


def run_all(jobs: Iterable[Any], serve: Serve, workers: int, limits: Limits, done: Done) -> None:
    """Calls `done(job, record)` for each job, from one thread at a time."""
    service = processes.Service(serve, _lost, START, _JOBS)
    processes.run_all(jobs, service, workers, limits, done)


def _lost(job: Any, kind: str, message: str) -> dict[str, Any]:
    failure = Failure("process", BACKEND, kind, message)
    return {"checks": {}, "ran": [], "failures": [failure.as_dict()]}
