"""Reductions over segments, hashes and histograms of many dimensions agree with the CPU."""

import pytest
import torch
from agreement import agree, random, refused

import torch_neuronx

aten = torch.ops.aten


def natively(fn, *args, **tolerance):
    torch_neuronx.clear_op_tracking()
    agree(fn, *args, **tolerance)
    assert not torch_neuronx.get_fallback_ops()


REDUCTIONS = ["sum", "mean", "max", "min", "prod"]


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_segments(reduce):
    data, lengths = random(6, 3), torch.tensor([2, 0, 1, 3])
    offsets = torch.tensor([0, 2, 2, 3, 6])

    def run(data, lengths, offsets):
        return [
            torch.segment_reduce(data, reduce, lengths=lengths),
            torch.segment_reduce(data, reduce, offsets=offsets, initial=2),
            torch.segment_reduce(data, reduce, lengths=lengths, unsafe=True),
        ]

    natively(run, data, lengths, offsets)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_gradients_of_segments(reduce):
    def gradient(data, lengths):
        data = data.detach().requires_grad_()
        total = torch.segment_reduce(data, reduce, lengths=lengths, axis=1).square().sum()
        return torch.autograd.grad(total, data)

    natively(gradient, random(2, 5, 2), torch.tensor([[2, 3], [1, 4]]))


def test_segments_of_other_lengths_are_refused():
    data = random(6, 3)
    for lengths in ([2, 2], [7, -1]):
        refused(lambda d, n: torch.segment_reduce(d, "sum", lengths=n), data, torch.tensor(lengths))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_hashes(dtype):
    x = (random(3, 4) * 3).to(dtype)
    natively(torch.hash_tensor, x)
    natively(lambda x: torch.hash_tensor(x, dim=1, keepdim=True), x)


def test_histograms_of_many_dimensions():
    x, weight = random(40, 2), random(40).abs()
    edges = [torch.linspace(-1, 1, 4), torch.linspace(-2, 2, 6)]

    def flat(result):
        return [result.hist, *result.bin_edges]

    natively(lambda x: flat(torch.histogramdd(x, [3, 4])), x)
    natively(
        lambda x, w: flat(
            torch.histogramdd(x, [3, 2], range=[-1.5, 1.0, -2.0, 2.25], weight=w, density=True)
        ),
        x,
        weight,
    )
    natively(lambda x, *e: torch.histogramdd(x, list(e)).hist, x, *edges)


def test_a_range_that_is_not_finite_is_refused():
    refused(lambda x: torch.histogramdd(x, [2, 2]), torch.full((3, 2), torch.nan))
