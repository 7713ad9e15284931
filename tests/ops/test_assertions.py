"""Assertions about data raise at the call, eagerly and in a compiled graph."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, refused

import torch_neuronx


def holds(x, message=None):
    torch._assert_async(x) if message is None else torch._assert_async(x, message)
    return x + 1


def test_a_true_assertion_runs_natively():
    torch_neuronx.clear_op_tracking()
    agree(holds, torch.tensor(True))
    agree(lambda x: holds(x, "not zero"), torch.tensor([3.0]))
    assert torch_neuronx.get_fallback_ops() == []


def test_a_false_assertion_raises_what_the_cpu_raises():
    refused(holds, torch.tensor(False))
    refused(lambda x: holds(x, "it is zero"), torch.tensor([0]))
    refused(holds, torch.tensor([True, True]))


def test_in_a_compiled_graph():
    function = torch.compile(lambda x: F.one_hot(x, 3), backend="neuron", fullgraph=True)
    classes = torch.tensor([0, 2])
    assert torch.equal(function(classes.to("neuron")).cpu(), F.one_hot(classes, 3))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        function(torch.tensor([0, 3], device="neuron"))
