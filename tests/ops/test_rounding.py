"""Where a result is rounded: quotients once, operands of narrow floats when they are promoted."""

import pytest
import torch
from agreement import agree

EXACT = {"rtol": 0, "atol": 0}
X = torch.randn(24, 32, generator=torch.Generator().manual_seed(0)) * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_quotient_is_rounded_once_whatever_the_divisor(dtype):
    """A product with the reciprocal would be rounded twice: 3 / 10 would not be 0.3."""
    x = X.to(dtype)
    agree(lambda x: (x / 3, x / 0.1, x / 7.1), x, **EXACT)
    agree(lambda x, y: (x / y[0], x / y[:, :1], x / y[0, 0], x / y), x, x.flip(0), **EXACT)
    agree(lambda x: torch.div(x, 1e-5, rounding_mode="trunc"), x.round(), **EXACT)
    assert (torch.tensor(3.0, dtype=torch.float64, device="neuron") / 10).item() == 0.3


def test_a_mean_is_a_quotient():
    counts = torch.arange(60, dtype=torch.float64).view(6, 10)
    agree(lambda x: (x.mean(), x.mean(1), x[:, :3].mean(1)), counts, **EXACT)


NUMBERS = (0.1, 1 / 3, -2.7, 3, 1e-5)
OPERATORS = {
    "add": lambda x, n: (x + n, n - x),
    "mul": lambda x, n: (x * n, x / n, n / x),
    "remainder": lambda x, n: (x % n, torch.fmod(x, n)),
    "div": lambda x, n: (x // n, torch.div(x, n, rounding_mode="trunc")),
    "compare": lambda x, n: (x == n, x < n, x.clamp(min=n), torch.where(x > n, x, n)),
    "hardshrink": lambda x, n: torch.nn.functional.hardshrink(x, abs(n)),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_number_beside_a_narrow_float_is_rounded_where_the_cpu_rounds_it(name, dtype):
    x = torch.cat([X[0], torch.tensor([*NUMBERS, -0.1, 0.7])]).to(dtype)
    for number in NUMBERS:
        agree(lambda x, n=number: OPERATORS[name](x, n), x, **EXACT)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_tensor_beside_a_narrow_float_is_rounded_first(dtype):
    x, whole = X.to(dtype), torch.arange(X.numel()).view_as(X) * 3 + 1000
    agree(lambda x, y: (x + y, x * y, x / y, torch.maximum(x, y)), x, whole, **EXACT)
    scalar = torch.tensor(0.1)
    agree(lambda x, y: (x + y, x - y, x * y, x % y), x, scalar, **EXACT)
