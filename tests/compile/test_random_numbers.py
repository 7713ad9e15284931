"""Compiled graphs draw the random numbers of eager, and leave the generator where eager does."""

import pytest
import torch
import torch.nn.functional as F
from agreement import random, same
from graphs import compiled

DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.3),
    "dropout2d": lambda x: F.dropout2d(x.view(1, 8, 4, 2), 0.3),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.view(1, 1, 8, 8)] * 3, dropout_p=0.4),
    "rand": lambda x: torch.rand(5, device=x.device),
    "randn_like": torch.randn_like,
    "randint": lambda x: torch.randint(0, 100, (7,), device=x.device),
    "randperm": lambda x: torch.randperm(9, device=x.device),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "uniform_": lambda x: torch.empty_like(x).uniform_(-1, 2),
    "normal_": lambda x: torch.empty_like(x).normal_(1, 2),
    "exponential_": lambda x: torch.empty_like(x).exponential_(2.0),
    "geometric_": lambda x: torch.empty_like(x).geometric_(0.3),
    "multinomial": lambda x: torch.multinomial(x.sigmoid(), 3),
    "PyTorch's definition of randn": lambda x: torch._refs.randn(5, device=x.device),
    "PyTorch's definition of uniform": lambda x: torch._refs._uniform_helper(
        (5,), stride=(1,), low=-1.0, high=2.0, dtype=x.dtype, device=x.device
    ),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True),
    "one after the other": lambda x: (
        F.dropout(torch.rand_like(x) + F.dropout(x), 0.2) + x.normal_()
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_graph_draws_as_eager_does(name):
    draw, results = DRAWS[name], []
    for function in (draw, compiled(draw, fullgraph=True)):
        torch.manual_seed(3)
        results.append((function(random(8, 8).to("neuron")).cpu(), torch.neuron.get_rng_state()))
    same(*results)


def test_two_calls_of_a_graph_draw_different_numbers():
    draw = compiled(torch.rand_like, fullgraph=True)
    x = random(8).to("neuron")
    assert not torch.equal(draw(x), draw(x))


def test_the_backward_pass_uses_the_mask_of_the_forward_pass():
    x = torch.ones(1000, device="neuron", requires_grad=True)
    y = compiled(lambda x: F.dropout(x, 0.5), fullgraph=True)(x)
    y.sum().backward()
    assert torch.equal(y, x.grad)
