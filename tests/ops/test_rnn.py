"""Recurrent layers agree with the CPU, which computes them without the fused cells."""

import pytest
import torch
from agreement import agree

LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def outputs_and_gradients(make, x):
    torch.manual_seed(0)
    layer = make().to(x.device)
    y, state = layer(x)
    state = state if isinstance(state, tuple) else (state,)
    gradients = torch.autograd.grad(y.sum() + state[0].sum(), list(layer.parameters()))
    return y.detach(), *(s.detach() for s in state), *gradients


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, bias):
    def make():
        return LAYERS[name](4, 5, bias=bias)

    agree(lambda x: outputs_and_gradients(make, x), torch.randn(3, 2, 4), rtol=1e-4, atol=1e-5)


def test_two_directions_and_layers():
    def make():
        return torch.nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)

    agree(lambda x: outputs_and_gradients(make, x), torch.randn(2, 3, 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", [torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell])
def test_cell(cell):
    def step(x):
        torch.manual_seed(0)
        return cell(4, 5).to(x.device)(x)

    agree(step, torch.randn(2, 4), rtol=1e-4, atol=1e-5)
