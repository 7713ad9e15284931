"""Nested tensors of layout jagged agree with the CPU, and stay on the device."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device, on
from nested_samples import LENGTHS, gradient, jagged

import torch_neuronx

VALUES = torch.arange(16.0).view(8, 2)
OFFSETS = torch.tensor([0, 3, 4, 8])

MADE = {
    "of a list": jagged,
    "of tensors": lambda device: torch.nested.as_nested_tensor(
        [on(device, torch.ones(n, 2)) for n in LENGTHS], layout=torch.jagged
    ),
    "of values and offsets": lambda device: torch.nested.nested_tensor_from_jagged(
        on(device, VALUES), on(device, OFFSETS)
    ),
    "of values and lengths": lambda device: torch.nested.nested_tensor_from_jagged(
        on(device, VALUES), lengths=on(device, torch.tensor(LENGTHS))
    ),
    "narrowed": lambda device: torch.nested.narrow(
        on(device, torch.arange(24.0).view(3, 4, 2)),
        1,
        on(device, torch.tensor([0, 1, 0])),
        on(device, torch.tensor([2, 1, 3])),
        layout=torch.jagged,
    ),
    "moved": lambda device: jagged("cpu").to(device),
    "moved back": lambda device: jagged(device).cpu().to(device),
}
FUNCTIONS = {
    "values": lambda x: (x.values(), x.offsets()),
    "padded": lambda x: x.to_padded_tensor(-1.0),
    "unbind": lambda x: list(x.unbind()),
    "unary": lambda x: (x.abs(), x.exp(), F.gelu(x), F.silu(x), x.sigmoid(), x.isnan()),
    "binary": lambda x: (x + x, x * 2, x - x.square(), x == x, torch.where(x > 0, x, -x)),
    "with dense": lambda x: x * torch.linspace(-1, 1, 6).to(x.device),
    "like": lambda x: (torch.zeros_like(x), torch.full_like(x, 3.0)),
    "softmax": lambda x: (x.softmax(-1), x.log_softmax(-1)),
    "softmax over rows": lambda x: x.softmax(1),
    "sums": lambda x: (x.sum(), x.sum(1), x.sum(-1), x.sum(1, keepdim=True)),
    "means": lambda x: (x.mean(), x.mean(1), x.mean(-1, keepdim=True)),
    "extrema": lambda x: (x.amax(1), x.amin(1), x.argmax(1)),
    "matmul": lambda x: (x @ torch.ones(6, 4).to(x.device), x.transpose(1, 2) @ x),
    "parts": lambda x: (x.chunk(2, -1), x.split(2, -1), x.select(0, 1), x[2]),
    "shapes": lambda x: (x.unsqueeze(-1), x.unflatten(-1, (2, 3)), torch.cat([x, x], -1)),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "rms_norm": lambda x: F.rms_norm(x, (6,)),
    "in place": lambda x: (x.clone().mul_(2), x.clone().zero_(), x.clone().copy_(x * 2)),
    "dtypes": lambda x: x.to(torch.float64),
}
DIFFERENTIABLE = ("padded", "with dense", "softmax over rows", "layer_norm", "rms_norm")


@pytest.mark.parametrize("name", MADE)
def test_made(name):
    with torch_neuronx.no_fallback():
        agree_by_device(MADE[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    with torch_neuronx.no_fallback():
        agree_by_device(lambda device: FUNCTIONS[name](jagged(device)))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    with torch_neuronx.no_fallback():
        agree_by_device(gradient(jagged, FUNCTIONS[name]))


def test_gradients_of_modules():
    def linear(x):
        return torch.nn.Linear(6, 5).to(x.device)(x)

    agree_by_device(gradient(jagged, linear))
    agree_by_device(gradient(jagged, lambda x: x.unbind()[2]))
    agree_by_device(gradient(jagged, lambda x: x.amax(1)))


def test_printing():
    shown = repr(jagged("neuron"))
    assert shown.startswith("NestedTensor(size=(3, j")
    assert "device=neuron:0" in shown.replace("'", "")


def test_embedding():
    def look_up(device):
        words = torch.nested.nested_tensor(
            [torch.tensor([1, 2]), torch.tensor([0])], layout=torch.jagged, device=device
        )
        return F.embedding(words, on(device, torch.arange(8.0).view(4, 2)))

    agree_by_device(look_up)
