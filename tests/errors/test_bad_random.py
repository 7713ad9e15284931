"""Distributions with impossible parameters."""

import pytest
import torch
import torch.nn.functional as F
from refusal import refused, refused_in_other_words, values

CASES = {
    "randint": lambda d: torch.randint(5, 5, (2,), device=d),
    "randint_range": lambda d: torch.randint(0, 1000, (2,), dtype=torch.uint8, device=d),
    "random_range": lambda d: values(d, 3, dtype=torch.int8).random_(0, 1000),
    "normal": lambda d: torch.normal(0.0, -1.0, (3,), device=d),
    "normal_": lambda d: values(d, 3).normal_(0, -1),
    "normal_tensor": lambda d: torch.normal(values(d, 3), -values(d, 3) - 1),
    "uniform_inf": lambda d: values(d, 3).uniform_(float("-inf"), 1),
    "exponential_": lambda d: values(d, 3).exponential_(-1),
    "geometric_": lambda d: values(d, 3).geometric_(2),
    "cauchy_": lambda d: values(d, 3).cauchy_(0, -1),
    "log_normal_": lambda d: values(d, 3).log_normal_(0, -1),
    "bernoulli": lambda d: values(d, 20).bernoulli(),
    "dropout": lambda d: F.dropout(values(d, 3), 1.5),
    "multinomial_negative": lambda d: torch.multinomial(-values(d, 3) - 1, 1),
    "multinomial_nothing": lambda d: torch.multinomial(values(d, 3) * 0, 1),
    "multinomial_nan": lambda d: torch.multinomial(values(d, 3) * float("nan"), 1),
    "multinomial_none": lambda d: torch.multinomial(values(d, 3), 0),
    "multinomial_more": lambda d: torch.multinomial(values(d, 3), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_impossible_parameters(name):
    refused(CASES[name])


def test_parameters_that_the_message_does_not_repeat():
    refused_in_other_words(
        lambda d: values(d, 3).uniform_(2, 1),
        "uniform_ expects to return a [from, to) range, but found from > to",
    )
    refused_in_other_words(
        lambda d: values(d, 3).uniform_(-3e38, 3e38), "uniform_ expects to - from <= "
    )
    refused_in_other_words(
        lambda d: values(d, 3).bernoulli_(1.5), "bernoulli_ expects p to be in [0, 1]"
    )


def test_a_refused_draw_leaves_its_target_alone():
    target = values("neuron", 3)
    with pytest.raises(RuntimeError):
        target.uniform_(2, 1)
    assert torch.equal(target.cpu(), values("cpu", 3))
