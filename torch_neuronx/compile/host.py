"""Tensors of a graph that are on the CPU: sent to the program, fetched from it.

A 0-d tensor (an optimizer's step) goes as a number. Results that the graph has on the CPU, numbers
that depend on data, and new values of inputs on the CPU come back after the launch, which then
waits for the program.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from torch_neuronx.compile.calling import Run
from torch_neuronx.compile.captured import Captured, on_cpu


def crossing(captured: Captured, core: Run) -> Run:
    """`core`, which takes and returns tensors of the device, with the host's moved around it."""
    inputs = list(captured.inputs)
    sizes = [(inputs.index(node), _dtype(node)) for node in captured.runtime_sizes]
    sent = [inputs.index(node) for node in captured.host_inputs]
    updated = [inputs.index(node) for node in captured.host_mutations]
    fetched = [i for i, node in enumerate(captured.outputs) if on_cpu(node)]
    numbers = [i for i, node in enumerate(captured.outputs) if _is_computed_number(node)]
    if not (sizes or sent or updated or fetched or numbers):
        return core
    count = len(captured.outputs)
    device = captured.device

    def run(args: list[Any]) -> list[Any]:
        targets = [args[i] for i in updated]
        for i, dtype in sizes:
            args[i] = torch.tensor(_value(args[i]), dtype=dtype)
        for i in sent:
            args[i] = args[i].to(device)
        results = core(args)
        for target, new in zip(targets, results[count:], strict=True):
            target.copy_(new)
        for i in fetched:
            results[i] = results[i].cpu()
        for i in numbers:
            results[i] = results[i].item()
        return results[:count]

    return run


def _value(number: Any) -> Any:
    """The size of a ragged dimension has none: it stands for its offsets, only to be compared."""
    return 0 if isinstance(number, torch.SymInt) and number.node.is_nested_int() else number


def _dtype(node: fx.Node) -> torch.dtype:
    """Of a symbolic number."""
    return torch.int64 if isinstance(node.meta["val"], torch.SymInt) else torch.float64


def _is_computed_number(node: Any) -> bool:
    """Whether an output is a number that only the program knows."""
    if not isinstance(node, fx.Node) or node.op == "placeholder":
        return False
    return bool(free_unbacked_symbols(node.meta.get("val"))) and not isinstance(
        node.meta["val"], torch.Tensor
    )
