"""Metadata of the ops that save a generator's state for a backward pass, and of those that use it.

AOTAutograd takes the state for that of the CPU's generator and leaves other metadata out. On the
device it is a (seed, offset), uint64[2]. Called by `captured`; the ops' rules are in
`lowering.rng_state`.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch.utils._pytree import tree_leaves


def annotate(module: fx.GraphModule) -> None:
    """Gives every state of the graph, and the ops that save and use them, their metadata."""
    for node in module.graph.nodes:
        if node.target is run_and_save_rng_state:
            results = _results(module, *node.args, **node.kwargs)
            node.meta["val"] = (_state(results), results)
            for user in node.users:
                if user.target is operator.getitem and user.args[1] == 0:
                    user.meta["val"] = node.meta["val"][0]
        elif node.target is run_with_rng_state:
            state, *call = node.args
            node.meta["val"] = _results(module, *call, **node.kwargs)
            state.meta["val"] = _state(node.meta["val"])


def _results(module: fx.GraphModule, op: Any, *args: Any, **kwargs: Any) -> Any:
    known = [n.meta.get("val") for n in module.graph.nodes]
    args, kwargs = fx.map_arg((args, kwargs), lambda n: n.meta["val"])
    mode = detect_fake_mode(known)
    assert mode is not None
    with mode:
        return op(*args, **kwargs)


def _state(results: Any) -> torch.Tensor:
    first = tree_leaves(results)[0]
    with first.fake_mode:
        return torch.empty(2, dtype=torch.uint64, device=first.device)
