"""Tensors of a graph that are on the CPU: sent to the program, fetched from it.

A 0-d tensor (an optimizer's step) goes as a number. Results that the graph has on the CPU, and new
values of inputs there, come back after the launch, which then waits for the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_neuronx.compile.captured import Captured, on_cpu

Run = Callable[[list[Any]], Any]


def crossing(captured: Captured, core: Run) -> Run:
    """`core`, which takes and returns tensors of the device, with the host's moved around it."""
    inputs = list(captured.inputs)
    sent = [inputs.index(node) for node in captured.host_inputs]
    updated = [inputs.index(node) for node in captured.host_mutations]
    fetched = [i for i, node in enumerate(captured.outputs) if on_cpu(node)]
    if not (sent or updated or fetched):
        return core
    count = len(captured.outputs)
    device = captured.device

    def run(args: list[Any]) -> list[Any]:
        targets = [args[i] for i in updated]
        for i in sent:
            args[i] = args[i].to(device)
        results = core(args)
        for target, new in zip(targets, results[count:], strict=True):
            target.copy_(new)
        for i in fetched:
            results[i] = results[i].cpu()
        return results[:count]

    return run
