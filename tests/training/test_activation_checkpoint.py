"""Eager activation checkpointing: the backward pass draws again the numbers of the forward pass."""

import pytest
import torch
from agreement import on, random, same
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint


def program(x, w):
    return dropout(dropout((x @ w).relu(), 0.5) @ w, 0.25).sin()


def step(function):
    x, w = (on("neuron", t).requires_grad_() for t in (random(8, 4), random(4, 4, seed=1)))
    torch.manual_seed(0)
    result = function(x, w)
    result.square().sum().backward()
    return [t.cpu() for t in (result, x.grad, w.grad, torch.rand(4, device="neuron"))]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_are_those_without_a_checkpoint(use_reentrant):
    got = step(lambda x, w: checkpoint(program, x, w, use_reentrant=use_reentrant))
    same(got, step(program))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_under_autocast(use_reentrant):
    def cast(function):
        with torch.autocast("neuron"):
            return step(function)

    got = cast(lambda x, w: checkpoint(program, x, w, use_reentrant=use_reentrant))
    same(got, cast(program))
