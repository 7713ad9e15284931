"""Activation checkpointing in compiled graphs: what the backward pass repeats is what was run."""

import warnings

import pytest
import torch
from agreement import on, random, same
from graphs import compiled
from oracle import CLOSE
from torch import nn
from torch.nn.functional import dropout, scaled_dot_product_attention
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def step(function, inputs, seed=0):
    """Results and gradients, and the random numbers that follow."""
    leaves = [on("neuron", x).requires_grad_() for x in inputs]
    torch.manual_seed(seed)
    result = function(*leaves)
    (result * result.detach().cos()).sum().backward()
    after = torch.rand(4, device="neuron")
    return [t.detach().cpu() for t in (result, *(x.grad for x in leaves), after)]


def agree_checkpointed(program, *inputs, tolerance=CLOSE, **options):
    """Compiled or not, with and without a checkpoint, it is one and the same."""

    def checkpointed(*inputs):
        return checkpoint(program, *inputs, use_reentrant=False, **options)

    eager = step(program, inputs)
    same(step(checkpointed, inputs), eager, **tolerance)
    same(step(compiled(program, fullgraph=True), inputs), eager, **tolerance)
    torch._dynamo.reset()
    function = compiled(checkpointed, fullgraph=True)
    got = step(function, inputs)
    same(got, eager, **tolerance)
    other = step(function, inputs, seed=1)
    assert not torch.equal(other[0], got[0])
    same(step(function, inputs), got, **CLOSE)


def test_dropout():
    def program(x, w):
        return dropout((x @ w).relu(), 0.5).sin() @ w

    agree_checkpointed(program, random(8, 4), random(4, 4, seed=1))


def test_several_random_ops():
    def program(x, w):
        y = dropout(x @ w, 0.25) * torch.rand_like(x)
        y = y + torch.randn(x.shape, device=x.device) * torch.bernoulli(x.sigmoid())
        return dropout(y.sin(), 0.5) @ w

    agree_checkpointed(program, random(8, 4), random(4, 4, seed=1))


def test_attention_with_dropout():
    def program(q, k, v):
        return scaled_dot_product_attention(q.sin(), k, v, dropout_p=0.5).cos()

    agree_checkpointed(program, *(random(2, 2, 6, 4, seed=i) for i in range(3)))


def test_a_policy_chooses_what_is_repeated():
    def policy(context, op, *args, **kwargs):
        products = (torch.ops.aten.mm.default,)
        return CheckpointPolicy.MUST_SAVE if op in products else CheckpointPolicy.PREFER_RECOMPUTE

    def program(x, w):
        return dropout((x @ w).relu(), 0.5).sin() @ w

    agree_checkpointed(
        program,
        random(8, 4),
        random(4, 4, seed=1),
        context_fn=lambda: create_selective_checkpoint_contexts(policy),
    )


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(4, 16), nn.Linear(16, 4), nn.Dropout(0.3)

    def forward(self, x):
        return x + self.drop(self.down(self.drop(self.up(x).relu())))


class Stack(nn.Module):
    """Blocks, each under a checkpoint of its own."""

    def __init__(self, repeats):
        super().__init__()
        self.blocks, self.repeats = nn.ModuleList(Block() for _ in range(3)), repeats

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.repeats else block(x)
        return x


def trained(repeats, compile, dynamic=None):
    """Losses of some steps, with batches of several sizes."""
    torch.manual_seed(0)
    model = Stack(repeats)
    model.load_state_dict(
        {n: random(*p.shape, seed=len(n)) / 4 for n, p in model.named_parameters()}
    )
    model.to("neuron")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    function = compiled(model, fullgraph=True, dynamic=dynamic) if compile else model
    losses = []
    for size in (8, 8, 5, 7):
        loss = function(on("neuron", random(size, 4))).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return torch.tensor(losses)


@pytest.mark.parametrize("dynamic", [None, True])
def test_training(dynamic):
    want = trained(repeats=False, compile=False)
    torch.testing.assert_close(trained(repeats=True, compile=False), want)
    torch.testing.assert_close(trained(repeats=True, compile=True, dynamic=dynamic), want)


def test_backward_twice():
    def program(x):
        return checkpoint(lambda x: dropout(x.sin(), 0.5).exp(), x, use_reentrant=False)

    x = on("neuron", random(64)).requires_grad_()
    result = compiled(program, fullgraph=True)(x).sum()
    result.backward(retain_graph=True)
    once = x.grad.clone()
    result.backward()
    same(x.grad, (2 * once).cpu())


@torch.library.custom_op("checkpoint_test::shifted", mutates_args=())
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


shifted.register_fake(torch.empty_like)
shifted.register_autograd(lambda ctx, grad: grad)


def test_around_an_op_that_runs_eagerly():
    def program(x, w):
        return dropout(shifted(dropout(x @ w, 0.5)).sin(), 0.5) @ w

    agree_checkpointed(program, random(8, 4), random(4, 4, seed=1))


def test_checks_in_what_is_repeated():
    def program(x, p):
        return torch.bernoulli(p) * x.sin().exp()

    def checkpointed(x, p):
        return checkpoint(program, x, p, use_reentrant=False)

    function = compiled(checkpointed, fullgraph=True)
    x = on("neuron", random(4)).requires_grad_()
    function(x, torch.full((4,), 0.5, device="neuron")).sum().backward()
    with pytest.raises(RuntimeError, match="p_in >= 0 && p_in <= 1"):
        function(x, torch.full((4,), 1.5, device="neuron"))


def test_graphs_that_run_eagerly():
    """Both do, or one of the two: the forward's has an op without a program."""

    def program(x):
        return checkpoint(lambda x: dropout(x.sin(), 0.5).exp(), x, use_reentrant=False)

    def with_eigenvalues(x):
        return program(x) + torch.linalg.eigvalsh(x.detach() @ x.detach().t()).sum()

    for function in (program, with_eigenvalues):
        x = random(4, 4)
        eager = step(function, [x])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"fallback_execution": True}
            same(step(compiled(function, fullgraph=True, options=options), [x]), eager, **CLOSE)


def test_under_autocast():
    def program(x, w):
        with torch.autocast("neuron"):
            return dropout((x @ w).relu(), 0.5) @ w

    # A compiled program rounds less often to bfloat16; results are up to ten.
    tolerance = {"rtol": 0.02, "atol": 0.08}
    agree_checkpointed(program, random(8, 4), random(4, 4, seed=1), tolerance=tolerance)
