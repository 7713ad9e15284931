"""Reductions and running reductions agree with the CPU: every dim argument, NaN, ties, empty
tensors.
"""

import math

import pytest
import torch
from agreement import agree, refused

NAN = math.nan
X = torch.randn(3, 4, 5)
DIMS = [0, -1, (0, 2), ()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool], ids=str)
@pytest.mark.parametrize(
    "name", ["sum", "mean", "amax", "amin", "any", "all", "prod", "argmax", "std"]
)
def test_along_dimensions(name, dtype):
    op = getattr(torch, name)
    x = (X * 2).to(dtype)
    if name in ("mean", "std") and not dtype.is_floating_point:
        pytest.skip("needs floats")
    if name == "argmax" and dtype == torch.bool:
        pytest.skip("no CPU kernel")
    one = name in ("prod", "argmax")
    dims = [0, -1] if one else DIMS
    bound = 8 * torch.finfo(dtype).eps if dtype.is_floating_point else 0
    if dtype.is_floating_point and name in ("sum", "mean", "std"):
        # A rounding for each term of the longest sum, which is accumulated in float32 at least.
        bound += x.numel() * torch.finfo(torch.float32).eps
    agree(
        lambda x: [op(x, dim=d, keepdim=k) for d in dims for k in (False, True)],
        x,
        rtol=bound,
        atol=bound,
    )


def test_zero_dimensional_input():
    x = torch.tensor(2.5)
    ops = [torch.sum, torch.mean, torch.amax, torch.argmax, torch.any, torch.var, torch.logsumexp,
           torch.softmax, torch.cumsum, torch.max, torch.median, torch.count_nonzero]  # fmt: skip
    agree(lambda x: [tuple(r) if isinstance(r := op(x, dim=0), tuple) else r for op in ops], x)


def test_empty_input():
    x = torch.zeros(0, 3)
    agree(
        lambda x: [x.sum(), x.sum(0), x.sum(1), x.mean(), x.prod(), x.any(), x.all(), x.amax(1)], x
    )
    agree(lambda x: [x.var(), x.logsumexp(0), x.cumsum(0), x.count_nonzero(), x.norm()], x)
    refused(lambda x: x.amax(0), x)
    refused(lambda x: x.max(), x)
    refused(lambda x: x.min(0), x)


def test_nan_and_ties_choose_cpu_elements():
    x = torch.tensor([[1, NAN, NAN], [2, 2, 1.0], [-0.0, 0.0, -1.0]])
    agree(
        lambda x: [tuple(x.max(1)), tuple(x.min(1)), x.argmax(1), x.argmin(), x.amax(0), x.amin()],
        x,
    )
    agree(
        lambda x: [tuple(torch.aminmax(x)), tuple(torch.aminmax(x, dim=1)), tuple(x.median(0))], x
    )
    agree(lambda x: [x.nansum(), x.nanmean(1), x.nanmedian(), x.isnan().sum(1)], x)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64], ids=str)
def test_extremes_of_integers(dtype):
    x = torch.tensor([[1, 0, 1], [0, 0, 0]]).to(dtype)
    agree(lambda x: [tuple(x.max(1)), tuple(x.min(0)), x.amax(), x.amin(1), x.any(1), x.all()], x)


def test_sums_keep_precision_over_long_runs():
    assert torch.ones(2**25, device="neuron").sum().item() == 2**25
    x = torch.rand(3, 100003)
    agree(lambda x: [x.sum(1), x.sum(0), x.mean(1), x.var(1)], x)
    norm = x.to("neuron").norm()
    torch.testing.assert_close(norm.cpu(), x.double().norm().float())


def test_half_precision_accumulates_in_float32():
    x = torch.full((5000,), 0.1, dtype=torch.bfloat16)
    agree(lambda x: [x.sum(), x.mean(), x.var(), x.norm()], x, rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, math.inf, -math.inf])
def test_norms(order):
    agree(lambda x: [torch.linalg.vector_norm(x, order, d) for d in (None, 0, (0, 1))], X)


@pytest.mark.parametrize("correction", [0, 1, 0.5, 3, 7])
def test_variance_with_correction(correction):
    agree(lambda x: torch.var_mean(x, 0, correction=correction), X)


@pytest.mark.parametrize("size", [1, 7, 16, 17, 64, 65, 1000, 4099])
def test_running_reductions_of_any_length(size):
    x = torch.randn(size).cos()
    agree(lambda x: [x.cumsum(0), x.cumprod(0), x.logcumsumexp(0)], x, rtol=1e-5, atol=1e-4)
    agree(lambda x: [tuple(x.cummax(0)), tuple(x.cummin(0))], x)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_reductions_of_any_dimension(dim):
    agree(
        lambda x: [x.cumsum(dim), tuple(x.cummax(dim)), x.flip(dim).cumprod(dim)],
        torch.randn(20, 30, 3),
    )


def test_running_reductions_of_ties_nan_and_integers():
    x = torch.tensor([1.0, 1.0, NAN, 0.5, NAN, 2.0])
    agree(lambda x: [tuple(x.cummax(0)), tuple(x.cummin(0)), x.cumsum(0)], x)
    agree(lambda x: [x.cumsum(0), x.cumprod(0)], torch.ones(5, dtype=torch.int32))
    agree(
        lambda x: [x.cumsum(0), x.cumsum(0, dtype=torch.float32)], torch.tensor([True, False, True])
    )
