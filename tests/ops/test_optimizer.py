"""Optimizers and gradient scaling agree with the CPU, and a changing learning rate compiles
nothing.
"""

import pytest
import torch
from agreement import agree

import torch_neuronx

OPTIMIZERS = {
    "adam": (torch.optim.Adam, {}),
    "adam_l2_amsgrad": (torch.optim.Adam, {"weight_decay": 0.1, "amsgrad": True}),
    "adamw": (torch.optim.AdamW, {"maximize": True}),
    "adagrad": (torch.optim.Adagrad, {"weight_decay": 0.1, "lr_decay": 0.01}),
    "sgd": (torch.optim.SGD, {"weight_decay": 0.1}),
    "sgd_momentum": (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.1}),
    "sgd_nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
}


def trained(make, how, *params, steps=2):
    params = [p.detach().requires_grad_() for p in params]
    optimizer = make(params, **how)
    for _ in range(steps):
        for i, p in enumerate(params):
            p.grad = torch.cos(p.detach() * (i + 1))
        optimizer.step()
    return [p.detach() for p in params]


STYLES = [(n, s) for n in OPTIMIZERS for s in ("fused", "foreach")]
STYLES += [("adamw", "single"), ("sgd_momentum", "single")]


@pytest.mark.parametrize(("name", "style"), STYLES)
def test_steps(name, style):
    make, options = OPTIMIZERS[name]
    how = {**options, "lr": 0.05, "fused": style == "fused", "foreach": style == "foreach"}
    torch_neuronx.clear_op_tracking()
    agree(lambda *p: trained(make, how, *p), torch.randn(4, 3), torch.randn(5))
    assert not torch_neuronx.get_fallback_ops()


def test_the_second_moment_keeps_the_digits_of_one_minus_beta():
    """A float32 beta of 0.999 would be wrong by eps / 0.001 of what is left of 1."""

    def run(p):
        optimizer = torch.optim.AdamW([p.detach().requires_grad_()], fused=True)
        (parameter,) = optimizer.param_groups[0]["params"]
        parameter.grad = torch.cos(p)
        optimizer.step()
        return optimizer.state[parameter]["exp_avg_sq"]

    agree(run, torch.randn(64), rtol=4 * torch.finfo(torch.float32).eps, atol=0)


def test_changing_learning_rate_compiles_nothing():
    parameter = torch.randn(4, 3, device="neuron", requires_grad=True)
    optimizer = torch.optim.AdamW([parameter], lr=0.1, fused=True)

    def step(lr):
        parameter.grad = torch.ones_like(parameter)
        optimizer.param_groups[0]["lr"] = lr
        optimizer.step()

    step(0.1)
    step(0.2)
    before = len(torch_neuronx.explain().rows)
    for lr in (0.3, 0.01, 0.05):
        step(lr)
    assert len(torch_neuronx.explain().rows) == before


def test_tensor_learning_rate():
    def run(p):
        lr = torch.tensor(0.1, device=p.device)
        return trained(torch.optim.AdamW, {"lr": lr, "fused": True}, p)

    agree(run, torch.randn(4, 3))


@pytest.mark.parametrize("gradient", [[1.0, 2.0], [1.0, float("inf")]], ids=["finite", "infinite"])
def test_gradient_scaler(gradient):
    def run(p):
        p = p.detach().requires_grad_()
        optimizer = torch.optim.SGD([p], lr=0.5)
        scaler = torch.amp.GradScaler(p.device.type, init_scale=8.0, growth_interval=1)
        for _ in range(2):
            p.grad = torch.tensor(gradient, device=p.device) * scaler.scale(torch.ones_like(p[0]))
            scaler.step(optimizer)
            scaler.update()
        return p.detach(), scaler.get_scale()

    agree(run, torch.zeros(2))
