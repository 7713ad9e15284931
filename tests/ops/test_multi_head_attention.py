"""nn.MultiheadAttention and transformers in training agree with the CPU: masks of all kinds, and
the gradients of inputs and parameters, eagerly and compiled."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, compiling, random

import torch_neuronx

BATCH, QUERIES, KEYS, WIDTH, HEADS = 2, 5, 6, 8, 2
# A chain of five products of at most 32 terms and a softmax, forward and backward.
BOUNDS = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(params=[False, True], ids=["eager", "compiled"], autouse=True)
def _eager_and_compiled(request):
    with compiling(request.param), torch_neuronx.no_fallback():
        yield


def causal(x):
    return torch.ones(QUERIES, KEYS, dtype=torch.bool, device=x.device).triu(1)


def some(x, *shape):
    return torch.arange(x.new_ones(shape).numel(), device=x.device).view(shape) % 3 == 1


def biases(x, *shape):
    return torch.linspace(-2, 2, x.new_ones(shape).numel(), device=x.device).view(shape)


def infinite(x):
    return torch.zeros(QUERIES, KEYS, device=x.device).masked_fill(causal(x), -torch.inf)


def padding(x):
    return some(x, BATCH, KEYS)


MASKS = {
    "none": lambda x: {},
    "causal": lambda x: {"attn_mask": causal(x)},
    "causal by name": lambda x: {"attn_mask": causal(x), "is_causal": True},
    "bool": lambda x: {"attn_mask": some(x, QUERIES, KEYS)},
    "float": lambda x: {"attn_mask": biases(x, QUERIES, KEYS)},
    "infinite": lambda x: {"attn_mask": infinite(x)},
    "per head": lambda x: {"attn_mask": some(x, BATCH * HEADS, QUERIES, KEYS)},
    "padding": lambda x: {"key_padding_mask": padding(x)},
    "padding and causal": lambda x: {"key_padding_mask": padding(x), "attn_mask": causal(x)},
    "float padding": lambda x: {"key_padding_mask": biases(x, BATCH, KEYS)},
}


def attend(mask, need_weights):
    """On (queries, memory): the output, the weights, and all gradients."""

    def run(queries, memory):
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(queries.device)
        queries, memory = (x.detach().requires_grad_() for x in (queries, memory))
        y, weights = layer(queries, memory, memory, need_weights=need_weights, **mask(queries))
        wanted = [queries, memory, *layer.parameters()]
        return y.detach(), weights, *torch.autograd.grad((y * y).sum(), wanted)

    def detached(*inputs):
        return [None if r is None else r.detach() for r in run(*inputs)]

    return detached


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    inputs = random(BATCH, QUERIES, WIDTH), random(BATCH, KEYS, WIDTH, seed=1)
    agree(attend(MASKS[name], need_weights=False), *inputs, strides=False, **BOUNDS)


def test_weights():
    inputs = random(BATCH, QUERIES, WIDTH), random(BATCH, KEYS, WIDTH, seed=1)
    agree(attend(MASKS["bool"], need_weights=True), *inputs, strides=False, **BOUNDS)


def test_a_row_that_is_masked_throughout():
    """Its output and its gradients are zeros, not NaN."""

    def run(q, k, v):
        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        mask = torch.ones(QUERIES, KEYS, dtype=torch.bool, device=q.device)
        mask[2] = False
        y = F.scaled_dot_product_attention(q, k, v, mask)
        return y.detach(), *torch.autograd.grad(y.square().sum(), (q, k, v))

    def heads(length, seed):
        return random(BATCH, HEADS, length, 4, seed=seed)

    agree(run, heads(QUERIES, 0), heads(KEYS, 1), heads(KEYS, 2), strides=False, **BOUNDS)


def test_transformer():
    def run(source, target):
        torch.manual_seed(0)
        model = torch.nn.Transformer(
            WIDTH, HEADS, 1, 1, dim_feedforward=16, dropout=0.0, batch_first=True
        ).to(source.device)
        mask = model.generate_square_subsequent_mask(QUERIES, device=source.device)
        y = model(source, target, tgt_mask=mask, src_key_padding_mask=some(source, BATCH, KEYS))
        gradients = torch.autograd.grad(y.square().sum(), list(model.parameters()))
        return y.detach(), *gradients

    inputs = random(BATCH, KEYS, WIDTH), random(BATCH, QUERIES, WIDTH, seed=1)
    agree(run, *inputs, strides=False, rtol=1e-3, atol=1e-4)  # gradients through three layer norms
