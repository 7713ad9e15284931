"""Nested tensors of the strided layout agree with the CPU."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device
from nested_samples import gradient, strided

FUNCTIONS = {
    "unbind": lambda x: list(x.unbind()),
    "padded": lambda x: x.to_padded_tensor(-1.0),
    "unary": lambda x: (x.abs(), -x, F.gelu(x), F.silu(x), x.tanh(), x.isnan()),
    "binary": lambda x: (x + x, x - 2 * x, x * x, x / 2, x == 0),
    "in place": lambda x: (x.clone().mul_(3), x.clone().add_(x), x.clone().zero_()),
    "linear": lambda x: F.linear(x, torch.ones(5, 6).to(x.device)),
    "layer_norm": lambda x: F.layer_norm(x, (6,), *torch.ones(2, 6).to(x.device)),
    "softmax": lambda x: x.softmax(-1),
    "matmul": lambda x: x @ x.transpose(1, 2),
    "sum": lambda x: x.sum(-1, keepdim=True),
    "shapes": lambda x: (x.transpose(1, 2).contiguous(), x.unsqueeze(-1), x.select(0, 1)),
    "dtypes": lambda x: x.to(torch.float64),
}
DIFFERENTIABLE = ("padded", "linear", "layer_norm", "softmax", "matmul", "sum")


def test_there_and_back():
    agree_by_device(lambda device: strided("cpu").to(device))
    agree_by_device(lambda device: strided(device).cpu().to(device))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    agree_by_device(lambda device: FUNCTIONS[name](strided(device)))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    agree_by_device(gradient(strided, FUNCTIONS[name]))


def test_an_encoder_layer_in_evaluation():
    def run(device):
        layer = torch.nn.TransformerEncoderLayer(12, 2, 24, batch_first=True).to(device).eval()
        with torch.no_grad():
            return layer(strided(device, 12))

    agree_by_device(run, rtol=1e-5, atol=1e-5)


def test_what_has_no_kernel_is_refused():
    with pytest.raises(NotImplementedError, match="Could not run 'aten::log'"):
        strided("neuron").log()
