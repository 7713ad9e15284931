"""Per-sample gradients, ensembles and curvature of models are the CPU's."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, random
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jvp, stack_module_state, vmap

import torch_neuronx

CLOSE = {"rtol": 1e-4, "atol": 1e-5}  # float32 through some ten layers


class Attention(nn.Module):
    """One pre-norm transformer block and a head over the mean of its tokens."""

    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
            for part in self.qkv(self.norm(x)).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head((x + self.out(mixed.transpose(-3, -2).flatten(-2))).mean(-2))


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


MODELS = {"mlp": (mlp, (6,)), "cnn": (cnn, (2, 8, 8)), "attention": (Attention, (5, 8))}
LABELS = torch.tensor([0, 2, 1, 2])


def made(name):
    """The module, its parameters and four inputs."""
    make, shape = MODELS[name]
    torch.manual_seed(0)
    module = make()
    return module, {k: p.detach() for k, p in module.named_parameters()}, random(4, *shape)


def loss_of(module):
    def loss(parameters, x, label):
        logits = functional_call(module, parameters, (x[None],))
        return F.cross_entropy(logits, label[None])

    return loss


@pytest.mark.parametrize("name", MODELS)
def test_per_sample_gradients(name):
    module, parameters, inputs = made(name)
    each = vmap(grad_and_value(loss_of(module)), in_dims=(None, 0, 0))
    with torch_neuronx.no_fallback():
        agree(each, parameters, inputs, LABELS, **CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_per_sample_gradients_add_up_to_the_batch(name):
    module, parameters, inputs = made(name)
    given = {k: p.to("neuron") for k, p in parameters.items()}
    x, labels = inputs.to("neuron"), LABELS.to("neuron")
    each = vmap(grad(loss_of(module)), in_dims=(None, 0, 0))(given, x, labels)

    def total(p):
        return F.cross_entropy(functional_call(module, p, (x,)), labels, reduction="sum")

    for key, whole in grad(total)(given).items():
        torch.testing.assert_close(each[key].sum(0).cpu(), whole.cpu(), **CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_an_ensemble(name):
    make, shape = MODELS[name]
    torch.manual_seed(0)
    members = [make() for _ in range(3)]
    parameters, buffers = stack_module_state(members)
    parameters = {k: p.detach() for k, p in parameters.items()}

    def run(p, x):
        return functional_call(members[0], (p, buffers), (x,))

    shared = vmap(run, in_dims=(0, None))
    own = vmap(run)
    x = random(4, *shape)
    with torch_neuronx.no_fallback():
        agree(shared, parameters, x, **CLOSE)
        agree(own, parameters, x.expand(3, *x.shape).contiguous(), **CLOSE)


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_a_directional_derivative(name):
    """PyTorch has no forward derivative of fused attention."""
    module, parameters, inputs = made(name)
    directions = {k: p.cos() for k, p in parameters.items()}

    def run(p, t, x):
        return jvp(lambda q: functional_call(module, q, (x,)), (p,), (t,))

    agree(run, parameters, directions, inputs, **CLOSE)


def test_the_hessian_of_a_network():
    module, parameters, inputs = made("mlp")
    names = ("0.bias", "2.bias")
    fixed = {k: p for k, p in parameters.items() if k not in names}

    def run(free, fixed, x, labels):
        def loss(p):
            return F.cross_entropy(functional_call(module, (p, fixed), (x,)), labels)

        return hessian(loss)(free)

    agree(run, {k: parameters[k] for k in names}, fixed, inputs, LABELS, **CLOSE)


def test_gradient_steps_of_an_inner_loop():
    """MAML: the outer gradient goes through the inner steps."""
    module, parameters, inputs = made("mlp")
    loss = loss_of(module)

    def outer(p, x, labels):
        for number in range(2):
            inner = grad(loss)(p, x[number], labels[number])
            p = {k: p[k] - 0.1 * inner[k] for k in p}
        return loss(p, x[2], labels[2])

    agree(grad(outer), parameters, inputs, LABELS, **CLOSE)


def test_a_module_on_the_device_is_called_with_other_parameters():
    module, parameters, inputs = made("cnn")
    module.to("neuron")
    given = {k: (p + 1).to("neuron") for k, p in parameters.items()}
    before = [p.clone() for p in module.parameters()]
    got = functional_call(module, given, (inputs.to("neuron"),))
    want = functional_call(cnn(), {k: p + 1 for k, p in parameters.items()}, (inputs,))
    torch.testing.assert_close(got.cpu(), want, **CLOSE)
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), before, strict=True))


def test_batch_norm_in_evaluation():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    parameters = {k: p.detach() for k, p in module.named_parameters()}
    buffers, images = dict(module.named_buffers()), random(3, 2, 5, 5)

    def loss(p, b, x):
        return functional_call(module, (p, b), (x[None],)).square().sum()

    agree(vmap(grad(loss), in_dims=(None, None, 0)), parameters, buffers, images, **CLOSE)
