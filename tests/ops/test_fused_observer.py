"""The fused observer and fake quantisation of quantisation-aware training agree with the CPU."""

import pytest
import torch
from agreement import agree, random

import torch_neuronx

helper = torch.ops.aten._fused_moving_avg_obs_fq_helper
RANGES = [(0, 255), (-128, 127), (-127, 127), (-8, 7), (0, 13)]
INF = float("inf")


@pytest.fixture(autouse=True)
def _stays_on_the_device():
    with torch_neuronx.no_fallback():
        yield


def observe(limits, *, symmetric, per_row=False, flags=(1, 1), steps=2):
    """`steps` batches seen by one observer: the outputs, and what it has become."""

    def run(x):
        rows = x.shape[0] if per_row else 1
        low, high = (torch.full((rows,), sign * INF, device=x.device) for sign in (1, -1))
        scale = torch.ones(rows, device=x.device)
        zero_point = torch.zeros(rows, dtype=torch.int32, device=x.device)
        on = [torch.tensor([flag], device=x.device) for flag in flags]
        state = (low, high, scale, zero_point)
        outputs = [
            helper(x * (n + 1), *on, *state, 0.1, *limits, 0, per_row, symmetric)
            for n in range(steps)
        ]
        return outputs, state

    return run


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("limits", RANGES, ids=str)
def test_one_range(limits, symmetric):
    for x in (random(4, 6), random(4, 6).abs() + 1, -random(4, 6).abs() - 1):
        agree(observe(limits, symmetric=symmetric), x)


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_range_per_row(symmetric):
    agree(observe((-128, 127), symmetric=symmetric, per_row=True), random(4, 6))


@pytest.mark.parametrize("flags", [(0, 1), (1, 0), (0, 0)], ids=str)
def test_switched_off(flags):
    if flags != (0, 1):  # a range that was never seen has no grid
        agree(observe((0, 255), symmetric=False, flags=flags), random(4, 6))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1e-6], ids=str)
def test_ranges_of_almost_nothing(scale, symmetric):
    for x in (random(4, 6), random(4, 6).abs()):
        agree(observe((0, 255), symmetric=symmetric, steps=1), x * scale)


def test_gradient():
    def run(x):
        x = x.detach().requires_grad_()
        state = (torch.tensor([n], device=x.device) for n in (-1.0, 1.0, 1.0))
        point = torch.zeros(1, dtype=torch.int32, device=x.device)
        on = torch.ones(1, dtype=torch.int64, device=x.device)
        y = torch.fused_moving_avg_obs_fake_quant(x, on, on, *state, point, 0.1, 0, 255, 0)
        return y.detach(), *torch.autograd.grad(y.square().sum(), [x])

    agree(run, random(4, 6) * 3)
