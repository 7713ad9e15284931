"""Forward, backward and optimizer in one graph: eager's losses, and parameters written in place."""

import pytest
import torch
from graphs import compiled, extra_memory, graph_rows, traces
from models import MODELS
from torch._dynamo.utils import counters
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

import torch_neuronx

STEPS = 5
EPS = torch.finfo(torch.float32).eps
ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 1e-2, "eps": 1e-3}


@pytest.fixture(autouse=True)
def tracing_backward():
    """Else Dynamo breaks the graph at backward() and at autograd.grad()."""
    counters.clear()
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        yield


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


def whole_step(model, optimizer):
    params = list(model.parameters())
    optimizer = optimizer(params)

    def step(*batch):
        loss = model(*batch)
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            optimizer.step(list(grads))
        return loss.detach()

    return step


def losses(name, optimizer, wrap=lambda step: step):
    spec = MODELS[name]
    torch.manual_seed(0)
    step = wrap(whole_step(spec.make().to("neuron"), OPTIMIZERS[optimizer]))
    batch = [t.to("neuron") for t in spec.batch()]
    torch.manual_seed(1)
    return [step(*batch).item() for _ in range(STEPS)]


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [*(("mlp", optimizer) for optimizer in OPTIMIZERS), ("bert with dropout", "adamw foreach")],
)
def test_a_whole_step_is_one_graph_with_the_losses_of_eager(name, optimizer):
    since = len(torch_neuronx.explain().rows)
    got = losses(name, optimizer, lambda step: compiled(step, fullgraph=True))
    assert traces() == len(graph_rows(since)) == 1
    want = losses(name, optimizer)
    assert got == pytest.approx(want, rel=MODELS[name].terms * EPS)
    assert got[-1] < got[0]


def test_a_whole_step_writes_its_parameters_in_place():
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 1))
    model = model.to("neuron")
    step = compiled(whole_step(torch.nn.Sequential(model, Mean()), AdamW), fullgraph=True)
    x = torch.ones(2, 512, device="neuron")
    step(x), step(x)
    weight = model[0].weight
    before, address = weight.detach().cpu(), weight.data_ptr()
    assert extra_memory(lambda: step(x)) < weight.nbytes // 4
    assert weight.data_ptr() == address
    assert not torch.equal(weight.cpu(), before)


class Mean(torch.nn.Module):
    def forward(self, x):
        return x.mean()


# ---- Optimizer.step alone, as PyTorch's recipe compiles it -------------------------------------

STEP_METHODS = {
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, foreach=False),
    "adamw foreach": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, foreach=True),
    "adamw capturable": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, capturable=True),
    "adamw fused": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, fused=True),
    "sgd momentum": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9, nesterov=True),
}


def losses_of_step_method(optimizer, wrap=lambda step: step):
    torch.manual_seed(0)
    model = MODELS["mlp"].make().to("neuron")
    optimizer = STEP_METHODS[optimizer](model.parameters())
    step = wrap(optimizer.step)
    batch = [t.to("neuron") for t in MODELS["mlp"].batch()]
    for _ in range(STEPS):
        loss = model(*batch)
        optimizer.zero_grad()
        loss.backward()
        step()
        yield loss.item()


@pytest.mark.parametrize("optimizer", STEP_METHODS)
def test_a_step_method_has_the_losses_of_eager(optimizer):
    got = list(losses_of_step_method(optimizer, compiled))
    # Dynamo traces Adam as capturable: 1 - 0.999**step in float32 has an error of EPS / 0.001.
    assert got == pytest.approx(list(losses_of_step_method(optimizer)), rel=EPS / 0.001)


def test_a_learning_rate_in_a_tensor_is_an_input():
    parameter = torch.nn.Parameter(torch.ones(3, device="neuron"))
    rate = torch.tensor(1.0)
    optimizer = torch.optim.SGD([parameter], rate, foreach=True)
    step = compiled(optimizer.step)
    parameter.grad = torch.ones_like(parameter)
    since = len(torch_neuronx.explain().rows)
    for expected in (0.0, -2.0, -6.0):
        step()
        assert parameter.tolist() == [expected] * 3
        rate.mul_(2)
    assert len(graph_rows(since)) == 1
