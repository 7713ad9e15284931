"""Forward, backward and optimizer in one graph: the losses of eager, parameters written in place."""

import pytest
import torch
import torch.nn.functional as F
from models import MODELS
from torch._dynamo.utils import counters
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

import torch_neuronx

STEPS = 5


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    counters.clear()
    # Dynamo breaks the graph at backward() and autograd.grad() unless it is told to trace them.
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        yield


ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 1e-2, "eps": 1e-3}


def zeros(params):
    return [torch.zeros_like(p) for p in params]


class AdamW:
    """The functional form, whose state is lists of tensors."""

    def __init__(self, params, *, foreach=True):
        self.params, self.foreach = params, foreach
        self.averages, self.squares, self.largest = (zeros(params) for _ in range(3))
        self.steps = [torch.zeros((), device="neuron") for _ in params]

    def step(self, grads):
        adamw(
            self.params, grads, self.averages, self.squares, [], self.steps, foreach=self.foreach,
            capturable=True, amsgrad=False, maximize=False, **ADAMW,
        )  # fmt: skip


class FusedAdamW(AdamW):
    """The op itself, into whose caller in torch.optim Dynamo does not look. With amsgrad, because
    PyTorch functionalizes no op that writes to an empty list."""

    def step(self, grads):
        torch._foreach_add_(self.steps, 1)
        state = (self.averages, self.squares, self.largest, self.steps)
        torch._fused_adamw_(self.params, grads, *state, amsgrad=True, maximize=False, **ADAMW)


class SGD:
    def __init__(self, params):
        self.params, self.momenta = params, zeros(params)

    def step(self, grads):
        sgd(
            self.params, grads, self.momenta, foreach=True, weight_decay=0.0, momentum=0.9,
            lr=1e-2, dampening=0.0, nesterov=True, maximize=False,
        )  # fmt: skip


OPTIMIZERS = {
    "adamw": lambda params: AdamW(params, foreach=False),
    "adamw foreach": AdamW,
    "adamw fused": FusedAdamW,
    "sgd momentum": SGD,
}


def losses(name, make, compiled):
    torch.manual_seed(0)
    model = MODELS[name].make().to("neuron")
    params = list(model.parameters())
    optimizer = make(params)
    batch = [t.to("neuron") for t in MODELS[name].batch()]

    def step():
        loss = model(*batch)
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            optimizer.step(list(grads))
        return loss.detach()

    step = torch.compile(step, backend="neuron", fullgraph=True) if compiled else step
    return [step().item() for _ in range(STEPS)]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_are_those_of_eager(optimizer):
    make = OPTIMIZERS[optimizer]
    got = losses("mlp", make, compiled=True)
    assert counters["stats"]["unique_graphs"] == 1
    assert got == pytest.approx(losses("mlp", make, compiled=False), rel=1e-6)


STEP_METHODS = {
    "adamw foreach": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, foreach=True),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, foreach=False),
    "adamw fused": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, fused=True),
    "adamw tensor lr": lambda p: torch.optim.AdamW(
        p, torch.tensor(1e-3), eps=1e-3, foreach=True, capturable=True
    ),
    "sgd momentum": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9, nesterov=True),
}


def losses_of_step_method(make, compiled):
    torch.manual_seed(0)
    model = MODELS["mlp"].make().to("neuron")
    optimizer = make(model.parameters())
    step = torch.compile(optimizer.step, backend="neuron") if compiled else optimizer.step
    batch = [t.to("neuron") for t in MODELS["mlp"].batch()]
    for _ in range(STEPS):
        loss = model(*batch)
        optimizer.zero_grad()
        loss.backward()
        step()
        yield loss.item()


@pytest.mark.parametrize("optimizer", STEP_METHODS)
def test_an_optimizers_step_method_compiles(optimizer):
    make = STEP_METHODS[optimizer]
    got = list(losses_of_step_method(make, compiled=True))
    assert got == pytest.approx(list(losses_of_step_method(make, compiled=False)), rel=1e-6)
