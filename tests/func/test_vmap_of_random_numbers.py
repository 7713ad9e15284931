"""vmap's three kinds of randomness, with the generator of the device."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import vmap

LANES = torch.arange(4.0)

DRAWS = {
    "rand": lambda x: torch.rand(16, device=x.device),
    "randn_like": lambda x: torch.randn_like(x.expand(16)),
    "randint": lambda x: torch.randint(0, 1 << 20, (16,), device=x.device),
    "randperm": lambda x: torch.randperm(16, device=x.device),
    "normal_": lambda x: (x + torch.zeros(16, device=x.device)).normal_(),
    "bernoulli": lambda x: torch.bernoulli(torch.full((16,), 0.5, device=x.device)),
    "dropout": lambda x: F.dropout(torch.ones(16, device=x.device) + 0 * x),
    "multinomial": lambda x: torch.multinomial(torch.ones(64, device=x.device), 16),
}


def drawn(name, randomness):
    torch.manual_seed(0)
    return vmap(DRAWS[name], randomness=randomness)(LANES.to("neuron")).cpu()


@pytest.mark.parametrize("name", DRAWS)
def test_different_lanes_draw_different_numbers(name):
    lanes = drawn(name, "different")
    assert lanes.shape == (4, 16)
    assert len({tuple(lane.tolist()) for lane in lanes}) == 4


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_for_all(name):
    lanes = drawn(name, "same")
    assert (lanes == lanes[0]).all()


@pytest.mark.parametrize("name", DRAWS)
def test_no_randomness_unless_asked(name):
    with pytest.raises(RuntimeError, match="randomness"):
        drawn(name, "error")


def test_lanes_draw_what_one_call_draws():
    torch.manual_seed(0)
    assert torch.equal(torch.rand(4, 16, device="neuron").cpu(), drawn("rand", "different"))


def test_the_same_seed_draws_the_same():
    assert torch.equal(drawn("dropout", "different"), drawn("dropout", "different"))
