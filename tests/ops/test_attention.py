"""Attention agrees with its formula in float64, forward and backward; fast paths with the CPU."""

import math

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, compiling

Q = torch.randn(2, 4, 6, 8)
K, V = torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 8)
INF = float("inf")


def formula(q, k, v, mask=None, causal=False, scale=None):
    """softmax(q k' scale + mask) v in float64; a row masked throughout gives zeros."""
    q, k, v = q.double(), k.double(), v.double()
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF) if mask.dtype == torch.bool else scores + mask
    return torch.nan_to_num(scores.softmax(-1)) @ v


def compare(q, k, v, mask=None, causal=False, scale=None):
    wants = [x.detach().clone().double().requires_grad_() for x in (q, k, v)]
    ours = [x.to("neuron").requires_grad_() for x in (q, k, v)]
    want = formula(*wants, mask, causal, scale)
    got = F.scaled_dot_product_attention(
        *ours,
        mask if mask is None else mask.to("neuron"),
        is_causal=causal,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    slope = torch.linspace(-1, 1, want.numel()).view(want.shape)
    want.backward(slope.double())
    got.backward(slope.to("neuron", q.dtype))
    eps = torch.finfo(q.dtype).eps
    pairs = [(got, want), *((x.grad, y.grad) for x, y in zip(ours, wants, strict=True))]
    for mine, theirs in pairs:
        assert mine.dtype == q.dtype
        torch.testing.assert_close(mine.cpu().double(), theirs, rtol=8 * eps, atol=16 * eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_value_and_gradients(causal, dtype):
    compare(*(x.to(dtype) for x in (Q, K, V)), causal=causal)


@pytest.mark.parametrize("shape", [(6, 7), (2, 1, 6, 7), (1, 4, 6, 7)], ids=str)
def test_masks(shape):
    compare(Q, K, V, torch.randn(shape))
    compare(Q, K, V, torch.rand(shape) > 0.5)


def test_rows_masked_throughout():
    mask = torch.ones(6, 7, dtype=torch.bool)
    mask[2] = False
    compare(Q, K, V, mask)


def test_scale_grouped_heads_and_value_width():
    compare(Q, K, V, scale=0.3)
    compare(Q, K[:, :2], V[:, :2], causal=True)
    compare(Q, K, torch.randn(2, 4, 7, 5))


def test_gradient_of_the_mask():
    mask = torch.randn(2, 1, 6, 7).double().requires_grad_()
    ours = mask.detach().to("neuron", torch.float32).requires_grad_()
    formula(Q, K, V, mask).sum().backward()
    F.scaled_dot_product_attention(*(x.to("neuron") for x in (Q, K, V)), ours).sum().backward()
    torch.testing.assert_close(ours.grad.cpu(), mask.grad.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_gradients_of_half_precision(dtype):
    """Differences of large numbers are taken in float32."""
    q, k, v = (4 * x.to(dtype) for x in (Q, K, V))
    ours = [x.to("neuron").requires_grad_() for x in (q, k, v)]
    wants = [x.double().requires_grad_() for x in (q, k, v)]
    got = torch.autograd.grad(F.scaled_dot_product_attention(*ours).float().sum(), ours)
    want = torch.autograd.grad(formula(*wants).sum(), wants)
    eps = torch.finfo(dtype).eps
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(mine.cpu().double(), theirs, rtol=eps, atol=2 * eps)


def test_backward_drops_what_forward_dropped():
    """With values the identity the output is the dropped probabilities themselves."""
    q, k = (torch.randn(1, 2, 32, 8, device="neuron") for _ in range(2))
    v = torch.eye(32).expand(1, 2, 32, 32).contiguous().to("neuron").requires_grad_()
    p = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    slope = torch.randn(p.shape)
    p.backward(slope.to("neuron"))
    torch.testing.assert_close(v.grad.cpu(), p.detach().cpu().mT @ slope, rtol=1e-5, atol=1e-5)
    kept = (p != 0).float().mean().item()
    assert 0.45 < kept < 0.55


def second_gradients(attention, *inputs):
    """Of the squares of the first gradients."""
    first = torch.autograd.grad(attention(*inputs).sin().sum(), inputs, create_graph=True)
    return torch.autograd.grad(sum(g.square().sum() for g in first), inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"scale": 0.2}, {"mask": (Q @ K.mT)[1, 2]}, {"mask": Q @ K.mT > 0}],
    ids=["plain", "causal", "scale", "float mask", "bool mask"],
)
def test_twice_backward(options, heads, dtype):
    given = [x.to(dtype) for x in (Q, K[:, :heads], V[:, :heads])]

    def attention(q, k, v, mask=None, causal=False, scale=None):
        mask = mask if mask is None else mask.to("neuron")
        return F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=True
        )

    ours = [x.to("neuron").requires_grad_() for x in given]
    wants = [x.double().requires_grad_() for x in given]
    got = second_gradients(lambda *x: attention(*x, **options), *ours)
    want = second_gradients(lambda *x: formula(*x, **options), *wants)
    eps = torch.finfo(dtype).eps
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == dtype
        largest = theirs.abs().max().item()  # of sums that cancel, what is rounded
        torch.testing.assert_close(
            mine.cpu().double(), theirs, rtol=16 * eps, atol=16 * eps * largest
        )


def test_twice_backward_drops_what_forward_dropped():
    unit = torch.eye(7).expand(2, 4, 7, 7).to("neuron")

    def dropped(q, k, v):
        torch.manual_seed(0)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)

    q, k, v = (x.to("neuron").requires_grad_() for x in (Q, K, V))
    factor = dropped(q, k, unit).detach().cpu().ne(0).double() * 2

    def want(q, k, v):
        return ((q @ k.mT / math.sqrt(8)).softmax(-1) * factor) @ v

    wide = [x.double().requires_grad_() for x in (Q, K, V)]
    got, want = second_gradients(dropped, q, k, v), second_gradients(want, *wide)
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(mine.cpu().double(), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_fast_path(masked, need_weights):
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])

    def attend(x, padding):
        with torch.inference_mode():
            mask = padding if masked else None
            module = layer.to(x.device)
            return module(x, x, x, key_padding_mask=mask, need_weights=need_weights)

    with compiling(False):  # AOTAutograd cannot trace views made in inference mode
        agree(attend, torch.randn(2, 5, 16), padding, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer_fast_path(activation, norm_first):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        16, 4, 32, activation=activation, norm_first=norm_first, batch_first=True
    ).eval()

    def encode(x):
        with torch.inference_mode():
            return layer.to(x.device)(x)

    with compiling(False):
        agree(encode, torch.randn(2, 5, 16), rtol=1e-4, atol=1e-5)
