"""Normalisations, their statistics and gradients agree with the CPU, mixed dtypes included."""

import math

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, compiling

X = torch.randn(3, 4, 5, 6) * 2 + 1
DTYPES = [
    (torch.float32, torch.float32),
    (torch.float64, torch.float64),
    (torch.bfloat16, torch.float32),
    (torch.bfloat16, torch.bfloat16),
]


def tolerance(dtype):
    """Sums of up to 90 elements, each a few roundings off."""
    eps = torch.finfo(dtype).eps
    return {"rtol": 16 * eps, "atol": 64 * eps}


def value_and_gradients(norm, x, *parameters):
    x, *parameters = (v.detach().requires_grad_() for v in (x, *parameters))
    y = norm(x, *parameters)
    slope = torch.linspace(-1, 1, y.numel(), device=y.device).view(y.shape).to(y.dtype)
    return y.detach(), *torch.autograd.grad(y, (x, *parameters), slope)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("dtype", "parameters"), DTYPES, ids=str)
def test_batch_norm(dtype, parameters, training):
    def norm(x, w, b, mean, var):
        def apply(x, w, b):
            return F.batch_norm(x, mean, var, w, b, training, 0.2, 1e-3)

        return value_and_gradients(apply, x, w, b)

    state = [(torch.rand(4) + 0.1).to(parameters) for _ in range(4)]
    agree(norm, X.to(dtype), *state, **tolerance(dtype))


@pytest.mark.parametrize("momentum", [0.1, 0.3, None])
def test_running_statistics(momentum):
    def three_steps(x):
        norm = torch.nn.BatchNorm2d(4, momentum=momentum).to(x.device)
        for step in range(3):
            norm(x + step)
        return norm.running_mean, norm.running_var, norm.num_batches_tracked

    agree(three_steps, X)


def test_momentum_and_eps_are_not_part_of_the_program():
    import torch_neuronx

    x = X.to("neuron")
    state = [torch.ones(4, device="neuron") for _ in range(4)]
    F.batch_norm(x, *state, True, 0.11, 1e-5)
    before = len(torch_neuronx.explain().rows)
    F.batch_norm(x, *state, True, 0.12, 1e-4)
    assert len(torch_neuronx.explain().rows) == before


def test_saved_statistics_of_mixed_dtypes():
    w, b = torch.rand(4), torch.rand(4)
    aten = torch.ops.aten
    agree(
        lambda x, w, b: aten.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[1:],
        X.half(),
        w,
        b,
    )
    with compiling(False):  # the dtype that PyTorch's decomposition gives is another
        agree(
            lambda x, w, b: aten.native_group_norm(x, w, b, 3, 4, 30, 2, 1e-5)[1:], X.half(), w, b
        )


@pytest.mark.parametrize("shape", [(6,), (5, 6)])
@pytest.mark.parametrize(("dtype", "parameters"), DTYPES, ids=str)
def test_layer_norm(dtype, parameters, shape):
    w, b = (torch.rand(shape).to(parameters) for _ in range(2))

    def norm(*args):
        return value_and_gradients(lambda x, w, b: F.layer_norm(x, shape, w, b), *args)

    agree(norm, X.to(dtype), w, b, **tolerance(dtype))


@pytest.mark.parametrize(("dtype", "parameters"), DTYPES, ids=str)
def test_group_norm(dtype, parameters):
    w, b = (torch.rand(4).to(parameters) for _ in range(2))

    def norm(*args):
        return value_and_gradients(lambda x, w, b: F.group_norm(x, 2, w, b), *args)

    agree(norm, X.to(dtype), w, b, **tolerance(dtype))


@pytest.mark.parametrize("eps", [None, 1e-3])
@pytest.mark.parametrize(("dtype", "parameters"), DTYPES[:2] + DTYPES[3:], ids=str)
def test_rms_norm(dtype, parameters, eps):
    def norm(*args):
        return value_and_gradients(lambda x, w: F.rms_norm(x, (6,), w, eps), *args)

    agree(norm, X.to(dtype), torch.rand(6).to(parameters), **tolerance(dtype))


@pytest.mark.parametrize("dim", [0, 3])
def test_weight_norm(dim):
    shape = [1] * 4
    shape[dim] = X.shape[dim]

    def norm(*args):
        return value_and_gradients(lambda v, g: torch._weight_norm(v, g, dim), *args)

    agree(norm, X, torch.rand(shape) + 0.1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [F.instance_norm, lambda x: F.local_response_norm(x, 2)])
def test_composites(norm):
    agree(lambda x: value_and_gradients(norm, x), X, rtol=1e-4, atol=1e-4)


def test_channels_last_stays():
    x = X.to(memory_format=torch.channels_last)
    agree(lambda x: [F.group_norm(x, 2), F.batch_norm(x, None, None, training=True)], x)
    batch, channels, *places = x.shape
    sizes = (batch, channels, math.prod(places), 2)

    def gradient(x):
        _, mean, rstd = torch.native_group_norm(x, None, None, *sizes, 1e-5)
        mask = [True, False, False]
        return torch.ops.aten.native_group_norm_backward(x, x, mean, rstd, None, *sizes, mask)[0]

    agree(gradient, x, rtol=1e-5, atol=1e-5)


def test_empty_batches():
    agree(lambda x: [F.group_norm(x, 2), F.layer_norm(x, (6,))], X[:0])
    agree(lambda x: F.batch_norm(x, None, None, training=True), X[:0])
