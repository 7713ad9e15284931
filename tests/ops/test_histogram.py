"""Histograms agree with the CPU: edges, weights, density, and what falls outside."""

import pytest
import torch
from agreement import agree, random, refused

import torch_neuronx

X = random(200)


def natively(fn, *args, **tolerance):
    torch_neuronx.clear_op_tracking()
    agree(fn, *args, **tolerance)
    assert not torch_neuronx.get_fallback_ops()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("density", [False, True])
def test_of_equal_bins(dtype, density):
    x = X.to(dtype)
    natively(lambda x: torch.histogram(x, 10, density=density), x)
    natively(lambda x: torch.histogram(x, 7, range=(-1.0, 0.5), density=density), x.view(10, 20))


@pytest.mark.parametrize(("bins", "low", "high"), [(10, 0, 100), (30, 0, 3), (49, 1, 50)])
def test_histc_of_what_lies_on_the_edges(bins, low, high):
    x = torch.arange(10 * low, 10 * high + 1) / 10
    natively(lambda x: torch.histc(x, bins, low, high), x)


@pytest.mark.parametrize("density", [False, True])
def test_of_given_edges(density):
    edges = torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.1, 2.0])
    x = torch.cat([X, edges, torch.tensor([float("nan"), float("inf"), -float("inf")])])
    natively(lambda x, e: torch.histogram(x, e, density=density), x, edges)


def test_weights():
    # Sums of at most 200 weights below 1, in another order.
    bound = X.numel() * torch.finfo(torch.float32).eps
    weights = torch.linspace(0, 1, X.numel())
    natively(lambda x, w: torch.histogram(x, 5, weight=w), X, weights, rtol=bound, atol=bound)


@pytest.mark.parametrize("x", [torch.ones(4), torch.empty(0), torch.tensor(2.0)], ids=str)
def test_of_one_point_and_of_none(x):
    natively(lambda x: torch.histogram(x, 4), x)


def test_a_range_that_is_not_finite_is_refused():
    with pytest.raises(RuntimeError, match="not finite"):
        torch.histogram(torch.tensor([1.0, float("nan")], device="neuron"), 3)
    refused(lambda x: torch.histogram(x, 0), X)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_histc_counts_integers(dtype):
    """As CUDA does; the CPU's kernel takes floats only, which hold these numbers exactly."""
    x = torch.tensor([0, 1, 1, 3, 2, 7, 3, 3, 9], dtype=dtype)
    want = torch.histc(x.float(), bins=4, min=0, max=3)
    with torch_neuronx.no_fallback():
        got = torch.histc(x.to("neuron"), bins=4, min=0, max=3)
        whole = torch.histc(x.to("neuron"), bins=9)
    assert got.dtype is dtype
    assert got.tolist() == want.tolist()
    assert whole.tolist() == torch.histc(x.float(), bins=9).tolist()


def test_histc_of_integers_compiles():
    experts = torch.tensor([2, 0, 1, 2, 2, 3], dtype=torch.int32, device="neuron")
    count = torch.compile(lambda x: torch.histc(x, bins=4, min=0, max=3), backend="neuron")
    assert count(experts).tolist() == [1, 1, 3, 1]
