"""Higher-order operators by definition: PyTorch's own dense implementation, traced to plain ops.

The implementation runs on fake tensors of the shapes at hand, with the inner graphs called as it
calls them (mapped over whole dimensions by torch.vmap), and the graph of what it did is lowered.
Called by rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_unflatten

from torch_neuronx.lowering import composed
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


def lower(run: Callable[..., Any], definition: Callable[..., Any], *args: Any) -> Any:
    """What `definition(*args)` returns; among its nested `args` are Values, graphs and numbers."""
    leaves, structure = tree_flatten(args)
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Value)]

    def function(*tensors: torch.Tensor) -> Any:
        filled = list(leaves)
        for i, tensor in zip(at, tensors, strict=True):
            filled[i] = tensor
        return definition(*tree_unflatten(filled, structure))

    values = [leaves[i] for i in at]
    return run(_trace(function, values), values)


def _trace(function: Callable[..., Any], values: list[Value]) -> fx.GraphModule:
    """A graph of ops with rules. What an implementation copies into, it has made; in the graph such
    a tensor's later uses are those of the copy's result."""
    from torch_neuronx.eager import fake, roads

    table = {**roads.decompositions(), **composed.scatters()}
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with _disable_current_modes(), fake.plain_dispatch(), fake.quiet(), mode:
        tensors = [torch.empty(v.shape, dtype=v.dtype, device="neuron") for v in values]
        module = make_fx(function, table)(*tensors)
    for node in module.graph.find_nodes(op="call_function", target=aten.copy_.default):
        node.target = aten.copy.default
    return module
