"""What the tests ask about compiled graphs."""

import torch
from torch._dynamo.utils import counters

import torch_neuronx


def compiled(function=None, **options):
    return torch.compile(function, backend="neuron", **options)


def graph_rows(since=0):
    """explain()'s rows of graphs, after the first `since` rows of all."""
    return [row for row in torch_neuronx.explain().rows[since:] if row.nodes]


def traces():
    """How many graphs Dynamo has captured since the last reset of its counters."""
    return counters["stats"]["unique_graphs"]


def extra_memory(function):
    """Bytes of the device that a call needs at its peak, beyond those in use before it."""
    torch.neuron.synchronize()
    before = torch.neuron.memory_allocated()
    torch.neuron.reset_peak_memory_stats()
    function()
    torch.neuron.synchronize()
    return torch.neuron.max_memory_allocated() - before
