"""Gradients through compiled steps of an optimizer with differentiable=True: those of eager mode.

Dynamo compiles the first step, whose state needs no gradient, and runs its graph again for the
second one, whose state does.
"""

import warnings

import pytest
import torch
from agreement import on, same
from graphs import compiled

OPTIMIZERS = {
    "Adam": {"eps": 1.0},
    "NAdam": {"eps": 1.0},
    "Adagrad": {"eps": 1.0},
    "RMSprop": {"eps": 1.0},
    "SGD": {"momentum": 0.9},
}
# A step is some twenty roundings, each of at most a unit of the largest number in it.
CLOSE = {"rtol": 3 * 64 * torch.finfo(torch.float32).eps, "atol": 0.0}


def gradients(device, name, steps, compile=lambda step: step):
    """Of a weighted sum of the parameters after `steps`, to the first ones and to the gradients."""
    first = on(device, torch.linspace(-1, 1, 6)).requires_grad_()
    given = on(device, torch.linspace(0.5, 3, 6)).requires_grad_()
    parameter = first.clone()
    make = getattr(torch.optim, name)
    optimizer = make([parameter], lr=0.1, differentiable=True, **OPTIMIZERS[name])
    step = compile(optimizer.step)
    for number in range(steps):
        parameter.grad = given * (number + 1)
        step()
    weights = on(device, torch.linspace(1, 2, 6))
    return torch.autograd.grad((parameter * weights).sum(), [first, given])


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_gradient_goes_through_the_state(name):
    want = gradients("cpu", name, 3)
    same(gradients("neuron", name, 3, compiled), want, **CLOSE)


def test_steps_that_run_eagerly_are_named():
    with pytest.warns(UserWarning, match=r"step \[.*\] runs eagerly, op by op"):
        gradients("neuron", "Adam", 2, compiled)


def test_one_step_is_compiled():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs eagerly")
        got = gradients("neuron", "Adam", 1, compiled)
    same(got, gradients("cpu", "Adam", 1), **CLOSE)
