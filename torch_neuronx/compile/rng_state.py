"""Metadata of the ops that save a generator's state for a backward pass, and of those that use it.

AOTAutograd takes the state for that of the CPU's generator and leaves other metadata out. On the
device it is a (seed, offset), uint64[2]. Called by `captured`; the ops' rules are in
`lowering.rng_state`, and for a graph that runs eagerly what they do is here.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch.utils._pytree import tree_leaves

from torch_neuronx.device.random import get_rng_state, set_rng_state


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


def make_eager(module: fx.GraphModule) -> fx.GraphModule:
    """The graph with those ops replaced by functions that a run op by op can call."""
    for node in module.graph.nodes:
        if node.target in (run_and_save_rng_state, run_with_rng_state):
            saves = node.target is run_and_save_rng_state
            node.target = _run_and_save if saves else _run_from
    module.recompile()
    return module


def _run_and_save(op: Any, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, Any]:
    device = _device(args, kwargs)
    state = get_rng_state(device).view(torch.uint64).to(device)
    return state, op(*args, **kwargs)


def _run_from(state: torch.Tensor, op: Any, *args: Any, **kwargs: Any) -> Any:
    device = _device(args, kwargs)
    before = get_rng_state(device)
    set_rng_state(state.cpu().view(torch.uint8), device)
    try:
        return op(*args, **kwargs)
    finally:
        set_rng_state(before, device)


def _device(args: Any, kwargs: Any) -> torch.device:
    """Of the op that is called so."""
    tensors = (v for v in tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor))
    found = next(tensors, None)
    return kwargs["device"] if found is None else found.device
