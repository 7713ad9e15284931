"""Samplers that reject: gamma, Dirichlet, Poisson and binomial numbers, drawn by PyTorch's kernels.

Their generator starts from the device's state, so that a seed gives the same numbers in eager mode
and in a graph. A sample's mean is within five standard errors of the distribution's.
"""

import math

import pytest
import torch
from agreement import refused

import torch_neuronx

COUNT = 20_000

# Name -> (sampler of a shape, the mean, the variance).
SAMPLERS = {
    "gamma": (lambda like: torch._standard_gamma(like + 2.5), 2.5, 2.5),
    "small gamma": (lambda like: torch._standard_gamma(like + 0.3), 0.3, 0.3),
    "poisson": (lambda like: torch.poisson(like + 3), 3.0, 3.0),
    "large poisson": (lambda like: torch.poisson(like + 40), 40.0, 40.0),
    "binomial": (lambda like: torch.binomial(like + 50, like + 0.4), 20.0, 12.0),
    # Of two equal parts of three: Beta(1, 2).
    "dirichlet": (lambda like: torch._sample_dirichlet(like.unsqueeze(1).expand(-1, 3) + 1)[:, 0],
                  1 / 3, 1 / 18),
}  # fmt: skip


def zeros(count=COUNT, dtype=torch.float32):
    return torch.zeros(count, dtype=dtype, device="neuron")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SAMPLERS)
def test_moments(name, dtype):
    sampler, mean, variance = SAMPLERS[name]
    torch_neuronx.clear_op_tracking()
    drawn = sampler(zeros(dtype=dtype))
    assert drawn.dtype == dtype
    assert not torch_neuronx.get_fallback_ops()
    drawn = drawn.cpu().double()
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / COUNT)
    # The fourth moment of these is below 12 variances squared (that of the small gamma is 3 + 20).
    kurtosis = 24 if name == "small gamma" else 12
    assert abs(drawn.var() - variance) < 5 * variance * math.sqrt(kurtosis / COUNT)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_gives_the_same_numbers(name):
    sampler = SAMPLERS[name][0]
    torch.manual_seed(5)
    first, second = sampler(zeros(64)).cpu(), sampler(zeros(64)).cpu()
    torch.manual_seed(5)
    again = sampler(zeros(64)).cpu()
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_a_graph_draws_as_eager_mode_does():
    def draw(like):
        return torch.rand_like(like), torch._standard_gamma(like + 2), torch.poisson(like + 4)

    torch.manual_seed(7)
    want = [x.cpu() for x in draw(zeros(32))]
    torch.manual_seed(7)
    torch._dynamo.reset()
    got = torch.compile(draw, backend="neuron", fullgraph=True)(zeros(32))
    for g, w in zip(got, want, strict=True):
        assert torch.equal(g.cpu(), w)


def test_a_generator_of_ones_own():
    generator = torch.Generator("neuron").manual_seed(3)
    first = torch.poisson(zeros(64) + 9, generator=generator)
    assert torch.equal(first, torch.poisson(zeros(64) + 9, generator=generator.manual_seed(3)))


def test_negative_rates_are_refused():
    refused(torch.poisson, torch.tensor([1.0, -1.0]))


def test_distributions():
    concentration = torch.ones(4, 3, device="neuron").requires_grad_()
    sample = torch.distributions.Dirichlet(concentration).rsample()
    torch.testing.assert_close(sample.sum(-1).cpu(), torch.ones(4))
    (gradient,) = torch.autograd.grad(sample[:, 0].sum(), concentration)
    assert gradient.isfinite().all()
