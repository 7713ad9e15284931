"""Functions under torch.compile, and what Dynamo made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch._dynamo.utils import counters

OURS = "neuron"
# The graph that AOTAutograd hands to every backend, run op by op: PyTorch's own tracing.
TRACED = "aot_eager"
# A function that Dynamo compiled more often than its limit runs eagerly.
UNLIMITED = 10**6


def forget() -> None:
    """Of what was compiled before, and of what `breaks` knows."""
    torch._dynamo.reset()
    counters.clear()


def compiled(function: Callable, backend: str = OURS, dynamic: bool = False) -> Callable:
    torch._dynamo.config.recompile_limit = UNLIMITED
    torch._dynamo.config.accumulated_recompile_limit = UNLIMITED
    return torch.compile(function, backend=backend, dynamic=dynamic)


def breaks() -> Iterator[str]:
    """Why what ran since `forget` is not one graph."""
    for reason in counters["graph_break"]:
        yield "graph break: " + " ".join(reason.split())
    if not counters["stats"]["unique_graphs"]:
        yield "no graph"
