"""A call as a functional FX graph of ops that have rules, by PyTorch's own decompositions.

Called by `plan` for the ops of the road "decomposition". The graph's inputs are the call's tensors
and the numbers that stand for tensors, in order; other numbers are constants of the graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from torch_neuronx.eager import fake, roads
from torch_neuronx.eager.call import Call
from torch_neuronx.eager.standins import FakeStandIns, fake_mode


def trace(op: OpOverload, call: Call, arguments: list[Any]) -> fx.GraphModule:
    """The graph of `op` on `arguments` (in its schema's order). Raises what the op raises."""
    bound = FakeStandIns(call).bind(op, arguments)
    leaves, structure = pytree.tree_flatten(bound)
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        filled = list(leaves)
        for i, tensor in zip(at, tensors, strict=True):
            filled[i] = tensor
        args, kwargs = pytree.tree_unflatten(filled, structure)
        return op(*args, **kwargs)

    tensors = [leaves[i] for i in at]
    graph = _make(function, tensors)
    if any(_mutates(node) for node in graph.graph.nodes):
        graph = _make(torch.func.functionalize(function, remove="mutations"), tensors)
    return graph


def _make(function: Any, tensors: list[torch.Tensor]) -> fx.GraphModule:
    with fake.quiet(), fake_mode():
        return make_fx(function, decomposition_table=roads.decompositions())(*tensors)


def _mutates(node: fx.Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable
