"""The processes that run checks."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch_neuronx.sweep import processes

from .ledger import Case

START = 180.0  # seconds that a process may take to import PyTorch's descriptions
Job = Callable[[Case, dict[str, Any]], None]


@dataclass(frozen=True)
class Limits:
    """`timeout`: seconds for a case; `samples` of it; `seconds` after which no case is started."""

    timeout: float
    samples: int | None = None
    seconds: float = math.inf


def run_all(cases: Iterable[Case], workers: int, limits: Limits, done: Job) -> None:
    """Calls `done(case, outcome)` for each case, from one thread at a time."""
    serve = functools.partial(_serve, limit=limits.samples)
    service = processes.Service(serve, _lost, START)
    each = processes.Limits(limits.timeout, total=limits.seconds)
    processes.run_all(cases, service, workers, each, done)


def _lost(case: Case, verdict: str, detail: str) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "samples": 0,
        "host": {},
        "remarks": {},
        "failures": [(0, verdict, detail)],
    }


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
        start = time.perf_counter()
        outcome = check(operator, getattr(torch, case.dtype), case.mode, limit).as_dict()
        pipe.send({**outcome, "seconds": round(time.perf_counter() - start, 3)})
