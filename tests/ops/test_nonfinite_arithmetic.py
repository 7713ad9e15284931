"""NaN and infinity go through arithmetic as IEEE 754 says, also where XLA knows a shorter way."""

import math

import agreement
import pytest
import torch
from agreement import agree

BEYOND = torch.tensor([math.nan, math.inf, -math.inf, 2.0])
NONE = torch.zeros(4, dtype=torch.bool)
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True, params=["eager", "compiled"])
def _mode(request):
    with agreement.compiling(request.param == "compiled"):
        yield


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_infinity_times_false_is_nan(dtype):
    agree(lambda x, b: (x * b, b * x, x * b.to(x.dtype)), BEYOND.to(dtype), NONE)


def test_infinity_times_a_comparison_is_nan():
    agree(lambda x: x * (x != x).to(x.dtype), BEYOND[1:])


def test_gradient_of_a_minimum_that_is_nan():
    def gradient(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(torch.amin(x, 0), x)

    agree(gradient, torch.tensor([0.5, math.nan, 1.0]))
