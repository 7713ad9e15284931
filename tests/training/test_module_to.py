"""`Module.to(device)` moves parameters in place, as it does for every device that PyTorch ships.

What refers to a parameter keeps referring to it: a tied weight, an optimizer made before the move.
"""

import copy

import pytest
import torch
from agreement import random
from torch import nn


def tied() -> nn.ModuleDict:
    table = nn.Embedding(7, 5)
    head = nn.Linear(5, 7, bias=False)
    head.weight = table.weight
    return nn.ModuleDict({"table": table, "head": head})


def step(model: nn.ModuleDict, optimizer: torch.optim.Optimizer) -> float:
    device = next(model.parameters()).device
    tokens = torch.arange(7).to(device)
    loss = nn.functional.cross_entropy(model["head"](model["table"](tokens)), tokens.flip(0))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def test_parameters_keep_their_identity() -> None:
    model = nn.Linear(3, 3)
    weight = model.weight
    model.to("neuron")
    assert model.weight is weight and weight.device.type == "neuron"
    model.cpu()
    assert model.weight is weight and weight.device.type == "cpu"


def test_tied_weights_stay_tied() -> None:
    model = tied().to("neuron")
    assert model["head"].weight is model["table"].weight
    assert len(list(model.parameters())) == 1


def test_an_optimizer_made_before_the_move_trains_the_moved_model() -> None:
    torch.manual_seed(0)
    model = tied()
    reference = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model.to("neuron")
    expected = torch.optim.AdamW(reference.parameters(), lr=0.1)
    for _ in range(4):
        assert step(model, optimizer) == pytest.approx(step(reference, expected), rel=1e-5)


def test_gradients_move_along() -> None:
    model = nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    before = model.weight.grad.clone()
    model.to("neuron")
    assert model.weight.grad.device.type == "neuron"
    assert torch.equal(model.weight.grad.cpu(), before)


def test_data_may_change_device_and_dtype() -> None:
    parameter = nn.Parameter(torch.zeros(3))
    value = random(4, 2, dtype=torch.bfloat16)
    parameter.data = value.to("neuron")
    assert (parameter.device.type, parameter.dtype, parameter.shape) == (
        "neuron",
        torch.bfloat16,
        (4, 2),
    )
    (parameter * 2).sum().backward()
    assert parameter.grad.device.type == "neuron"
    parameter.data = torch.zeros(1)
    assert parameter.device.type == "cpu"


def test_a_moved_tensor_is_not_taken_for_one_of_the_host() -> None:
    moved = torch.zeros(3).to("neuron")
    assert not moved.is_cpu and moved.is_neuron
    with pytest.raises(TypeError, match="can't convert neuron"):
        moved.numpy()
