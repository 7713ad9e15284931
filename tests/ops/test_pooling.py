"""Pools, indices and gradients agree with the CPU: which of equals is taken, and NaN."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree

X = torch.randn(2, 3, 9, 8)
NAN, INF = float("nan"), float("inf")


def value_and_gradient(pool):
    def both(x):
        x = x.detach().requires_grad_()
        y = pool(x)
        weights = torch.arange(1.0, y.numel() + 1, device=y.device).view(y.shape).to(y.dtype)
        return y.detach(), torch.autograd.grad(y, x, weights)[0]

    return both


POOLS = {
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "max_dilated": lambda x: F.max_pool2d(x, (2, 3), (1, 2), 1, (2, 1)),
    "max_1d": lambda x: F.max_pool1d(x[0], 3, 2, 1),
    "max_3d": lambda x: F.max_pool3d(x, (2, 3, 2), 2, (1, 1, 0)),
    "average": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "average_ceil": lambda x: F.avg_pool2d(x, (4, 3), (3, 2), (2, 0), True),
    "average_without_padding": lambda x: F.avg_pool2d(x, 3, 2, 1, True, False),
    "average_with_divisor": lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5),
    "average_1d": lambda x: F.avg_pool1d(x[0], 3, 2, 1),
    "average_3d": lambda x: F.avg_pool3d(x, 3, 2, 1),
    "lp": lambda x: F.lp_pool2d(x, 2.0, 3),
    "adaptive_average": lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
    "adaptive_average_one": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_average_divisible": lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
    "adaptive_average_larger": lambda x: F.adaptive_avg_pool2d(x, (12, 11)),
    "adaptive_average_3d": lambda x: F.adaptive_avg_pool3d(x, (2, 4, 8)),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (4, 3)),
    "adaptive_max_3d": lambda x: F.adaptive_max_pool3d(x, (2, 4, 8)),
}


@pytest.mark.parametrize("name", POOLS)
def test_value_and_gradient(name):
    agree(value_and_gradient(POOLS[name]), X, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["max", "average", "adaptive_average", "adaptive_max"])
def test_channels_last(name):
    x = X.to(memory_format=torch.channels_last)
    agree(value_and_gradient(POOLS[name]), x, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["max", "average", "adaptive_average", "adaptive_max"])
def test_bfloat16(name):
    agree(POOLS[name], X.bfloat16())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int16], ids=str)
def test_maximum_of_integers(dtype):
    agree(lambda x: F.max_pool2d(x, 3, 2, 1), (X * 10).to(dtype))


def test_indices_of_equal_infinite_and_nan_elements():
    x = X.clone()
    x[0, 0, 3, 3], x[0, 0, 4, 3] = NAN, NAN
    x[0, 1], x[1, 1] = 1.0, -INF
    agree(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)
    agree(lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True), x)


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (8, 7)])
def test_fractional_max(size):
    def pool(x, samples):
        return F.fractional_max_pool2d(x, 2, size, return_indices=True, _random_samples=samples)

    agree(pool, X, torch.rand(2, 3, 2))


def test_unpooling():
    def unpool(x):
        values, indices = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(values, indices, 2, output_size=(9, 8))

    agree(value_and_gradient(unpool), X)


def test_unpooling_outside_the_plane_is_refused():
    values, indices = F.max_pool2d(X, 2, return_indices=True)
    values, bad = values.to("neuron"), torch.full_like(indices, 100).to("neuron")
    with pytest.raises(RuntimeError, match="Found an invalid max index: 100"):
        F.max_unpool2d(values, bad, 2, output_size=(9, 8))


def test_empty_batch():
    agree(lambda x: [F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3)], X[:0])
