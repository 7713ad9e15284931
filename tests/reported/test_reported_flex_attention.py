"""flex_attention on the device, eager and compiled, against scaled dot product attention."""

import math
import subprocess
import sys

import pytest
import torch
from agreement import on, ours, random, same
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as sdpa

import torch_neuronx

NEAR = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(autouse=True)
def enabled():
    with torch_neuronx.enable_flex_attention(), torch_neuronx.no_fallback():
        yield


@pytest.fixture
def attend():
    return ours(flex_attention)


def causal(b, h, q, k):
    return q >= k


def sliding(b, h, q, k):
    return (q >= k) & (q - k <= 16)


def qkv(length=128, heads=2, kv_heads=2, batch=1, dtype=torch.float32):
    shapes = [(batch, n, length, 16) for n in (heads, kv_heads, kv_heads)]
    return [random(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]


def run(function, device, inputs):
    """[result, *gradients]"""
    leaves = [on(device, x).requires_grad_() for x in inputs]
    result = function(*leaves)
    (result * result.detach().cos()).sum().backward()
    return [result.detach(), *(x.grad for x in leaves)]


def seen(mask_mod, length):
    at = torch.arange(length)
    return mask_mod(0, 0, at[:, None], at[None, :])


@pytest.mark.parametrize("mask_mod", [causal, sliding])
@pytest.mark.parametrize("length", [128, 100])
def test_block_masks(attend, mask_mod, length):
    block_mask = create_block_mask(mask_mod, 1, 1, length, length, device="neuron")
    got = run(lambda q, k, v: attend(q, k, v, block_mask=block_mask), "neuron", qkv(length))
    mask = seen(mask_mod, length)
    want = run(lambda q, k, v: sdpa(q, k, v, attn_mask=mask), "cpu", qkv(length))
    same(got, want, **NEAR)


def test_a_captured_bias_has_a_gradient(attend):
    def with_bias(q, k, v, bias):
        return attend(q, k, v, score_mod=lambda score, b, h, i, j: score + bias[h, i, j])

    inputs = [*qkv(100), random(2, 100, 100, seed=3)]
    want = run(lambda q, k, v, bias: sdpa(q, k, v, attn_mask=bias), "cpu", inputs)
    same(run(with_bias, "neuron", inputs), want, **NEAR)


def test_a_captured_bias_that_pairs_share(attend):
    """Relative positions: each element of the bias is read many times."""

    def with_bias(q, k, v, bias):
        return attend(q, k, v, score_mod=lambda score, b, h, i, j: score + bias[h, i - j + 49])

    def biased(q, k, v, bias):
        at = torch.arange(50)
        return sdpa(q, k, v, attn_mask=bias[:, at[:, None] - at[None, :] + 49])

    inputs = [*qkv(50), random(2, 99, seed=3)]
    # An element's gradient is a sum of 50.
    same(run(with_bias, "neuron", inputs), run(biased, "cpu", inputs), rtol=1e-5, atol=5e-5)


def test_grouped_heads(attend):
    inputs = qkv(64, heads=8, kv_heads=2, batch=2)
    block_mask = create_block_mask(causal, 2, 8, 64, 64, device="neuron")

    def grouped(q, k, v):
        return attend(q, k, v, block_mask=block_mask, enable_gqa=True)

    def reference(q, k, v):
        return sdpa(q, k, v, is_causal=True, enable_gqa=True)

    same(run(grouped, "neuron", inputs), run(reference, "cpu", inputs), **NEAR)


def test_a_score_mod_that_is_not_linear(attend):
    def capped(score, b, h, i, j):
        return 2 * torch.tanh(score / 2) * (h + 1)

    def reference(q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(16)
        head = torch.arange(1, 3)[:, None, None]
        return (2 * (scores / 2).tanh() * head).softmax(-1) @ v

    got = run(lambda q, k, v: attend(q, k, v, score_mod=capped), "neuron", qkv(40))
    same(got, run(reference, "cpu", qkv(40)), **NEAR)


def test_documents_and_rows_that_see_nothing(attend):
    """A query of document -1 sees nothing: its result is zero, and so are its gradients."""
    document = torch.tensor([0] * 10 + [1] * 20 + [-1] * 10)
    on_device = document.to("neuron")

    def own(b, h, q, k):
        return (on_device[q] == on_device[k]) & (on_device[q] >= 0)

    block_mask = create_block_mask(own, 1, 1, 40, 40, device="neuron")
    got = run(lambda q, k, v: attend(q, k, v, block_mask=block_mask), "neuron", qkv(40))
    parts = [
        run(lambda q, k, v: sdpa(q, k, v), "cpu", [x[:, :, a:b] for x in qkv(40)])
        for a, b in ((0, 10), (10, 30))
    ]
    want = [torch.cat([*pair, torch.zeros_like(pair[0])], 2) for pair in zip(*parts, strict=True)]
    same([g.cpu() for g in got], want, strides=False, **NEAR)


def test_statistics(attend):
    q, k, v = qkv(32)
    aux = AuxRequest(lse=True, max_scores=True)
    with torch.no_grad():
        result, statistics = attend(*(on("neuron", x) for x in (q, k, v)), return_aux=aux)
    scores = q @ k.transpose(-2, -1) / math.sqrt(16)
    same(result, sdpa(q, k, v), **NEAR)
    same(statistics.lse, scores.logsumexp(-1), **NEAR)
    same(statistics.max_scores, scores.amax(-1), **NEAR)


def test_the_gradient_of_logsumexp(attend):
    def program(q, k, v):
        result, aux = attend(q, k, v, return_aux=AuxRequest(lse=True))
        return result + aux.lse[..., None]

    def reference(q, k, v):
        lse = (q @ k.transpose(-2, -1) / math.sqrt(16)).logsumexp(-1)
        return sdpa(q, k, v) + lse[..., None]

    same(run(program, "neuron", qkv(32)), run(reference, "cpu", qkv(32)), **NEAR)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes(attend, dtype):
    inputs = qkv(48, dtype=dtype)
    block_mask = create_block_mask(causal, 1, 1, 48, 48, device="neuron")
    got = run(lambda q, k, v: attend(q, k, v, block_mask=block_mask), "neuron", inputs)
    wide = [x.double() for x in inputs]
    want = run(lambda q, k, v: sdpa(q, k, v, is_causal=True), "cpu", wide)
    assert all(g.dtype == dtype for g in got)
    # Sums of up to 48 products of rounded factors.
    error = 8 * torch.finfo(dtype).eps
    same([g.double() for g in got], want, rtol=error, atol=error)


def test_lengths_that_vary():
    function = torch.compile(flex_attention, backend="neuron", fullgraph=True, dynamic=True)
    for length in (32, 100, 57):
        block_mask = create_block_mask(causal, 1, 1, length, length, device="neuron")
        got = run(
            lambda q, k, v, m=block_mask: function(q, k, v, block_mask=m), "neuron", qkv(length)
        )
        want = run(lambda q, k, v: sdpa(q, k, v, is_causal=True), "cpu", qkv(length))
        same(got, want, **NEAR)


def test_in_a_larger_graph():
    weight = random(16, 16, seed=5)

    def attended(q, k, v, w, attention):
        return attention(q @ w, k @ w, v.sin()) @ w.t()

    @torch.compile(backend="neuron", fullgraph=True)
    def program(*inputs):
        return attended(*inputs, flex_attention)

    inputs = [*qkv(40), weight / 4]
    want = run(lambda *inputs: attended(*inputs, sdpa), "cpu", inputs)
    same(run(program, "neuron", inputs), want, rtol=1e-4, atol=1e-4)


def test_permission_is_taken_back():
    inputs = [on("neuron", x) for x in qkv(16)]
    second = torch_neuronx.enable_flex_attention()
    for _ in range(2):  # the second time it does nothing
        second.disable()
        flex_attention(*inputs)


def test_nothing_is_changed_without_the_call():
    command = """
import torch
from torch.nn.attention import flex_attention as module
before = module._validate_device
import torch_neuronx
x = torch.zeros(1, 1, 4, 4, device="neuron")
with torch_neuronx.enable_flex_attention():
    module.flex_attention(x, x, x)
assert module._validate_device is before
try:
    module.flex_attention(x, x, x)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert "only supported on CUDA" in done.stdout, done.stderr
