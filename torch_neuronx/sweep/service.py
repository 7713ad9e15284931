"""What a worker process does: imports once, then checks one architecture after the other."""

from __future__ import annotations

import datetime
import gc
import logging
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from torch_neuronx.sweep.catalog import Architecture


def serve(pipe: Any, checks: Sequence[str]) -> None:
    """Sends "ready", then the record of each architecture that it receives."""
    import torch

    from torch_neuronx.sweep import libraries
    from torch_neuronx.sweep.checks import Run

    warnings.simplefilter("ignore")
    torch._logging.set_logs(dynamo=logging.ERROR)  # graph breaks are counted
    torch.set_num_threads(1)
    libraries.hush()
    pipe.send("ready")
    while True:
        architecture = pipe.recv()
        pipe.send(Run(architecture, checks)())
        gc.collect()


def described(architecture: Architecture, record: dict[str, Any]) -> dict[str, Any]:
    """A record with what it is about and when it was made."""
    about = {**asdict(architecture), "tasks": list(architecture.tasks), "name": architecture.name}
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {**about, "at": now, "seconds": {}, **record}
