"""Activation functions and their gradients agree with the CPU, boundaries included."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree

X = torch.tensor([float("nan"), -30.0, -4.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 4.0, 6.0, 30.0])

ACTIVATIONS = {
    "celu": lambda x: F.celu(x, 0.7),
    "elu": lambda x: F.elu(x, 1.3),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "glu": lambda x: F.glu(x[:12], 0),
    "hardshrink": F.hardshrink,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "log_sigmoid": F.logsigmoid,
    "log_softmax": lambda x: F.log_softmax(x[1:], 0),
    "mish": F.mish,
    "prelu": lambda x: F.prelu(x, torch.full((1,), 0.3, dtype=x.dtype, device=x.device)),
    "relu": F.relu,
    "relu6": F.relu6,
    "rrelu": lambda x: F.rrelu(x, training=False),
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "softmax": lambda x: F.softmax(x[1:], 0),
    "softplus": lambda x: F.softplus(x, 2.0, 5.0),
    "softshrink": F.softshrink,
    "softsign": F.softsign,
    "tanh": torch.tanh,
    "threshold": lambda x: F.threshold(x, 0.5, -7.0),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_value_and_gradient(name, dtype):
    def both(x):
        x = x.detach().requires_grad_()
        y = ACTIVATIONS[name](x)
        (slope,) = torch.autograd.grad(y, x, torch.ones_like(y))
        return y.detach(), slope

    values = X
    if name == "softshrink":
        # Under torch.compile PyTorch itself takes it apart (by a Python kernel for autograd), into
        # ops whose gradient at NaN is 0.
        values = X[1:]
    # CPU rounds some gradients' factors to bfloat16 on the way; each is at most a few units.
    eps = torch.finfo(dtype).eps
    agree(both, values.to(dtype), rtol=8 * eps, atol=16 * eps)


@pytest.mark.parametrize("shape", [(), (1,), (4, 1), (3, 0), (0, 3), (2, 3, 50257)], ids=str)
def test_softmax_of_any_shape(shape):
    agree(lambda x: [F.softmax(x, -1), F.log_softmax(x, 0)], torch.randn(shape))


def test_softmax_of_masked_rows():
    x = torch.tensor([[0.0, float("-inf")], [float("-inf")] * 2])
    agree(lambda x: [F.softmax(x, 1), torch.ops.aten._safe_softmax(x, 1)], x)


def test_logit():
    x = torch.tensor([-0.1, 0.0, 0.3, 0.9, 1.0])
    agree(lambda x: [torch.logit(x), torch.logit(x, 0.1)], x)
    aten = torch.ops.aten
    agree(lambda g, x: [aten.logit_backward(g, x), aten.logit_backward(g, x, 0.2)], x, x)


def test_glu_along_a_direction():
    aten = torch.ops.aten
    x, dx = torch.linspace(-3, 3, 24).view(4, 6), torch.linspace(1, -1, 24).view(4, 6)
    grad, dgrad = torch.linspace(-1, 2, 12).view(2, 6), torch.linspace(0, 1, 12).view(2, 6)

    def both(x, dx, grad, dgrad):
        y, slope = F.glu(x, 0), aten.glu_backward(grad, x, 0)
        return aten.glu_jvp(y, x, dx, 0), aten.glu_backward_jvp(slope, grad, x, dgrad, dx, 0)

    agree(both, x, dx, grad, dgrad)
