"""Scaled dot product attention and its gradient, as plain matrix products around a float32 softmax.

Serves PyTorch's overrideable fused attention and, in graphs traced for the CPU, its CPU flash
attention; the transformer fast paths are in `transformer`. Shape suffixes: B batch, H query heads,
K key/value heads, Q queries, S keys, D head dim. Query heads h * H / K .. share key head h, so
they fold into the query dimension. The backward rebuilds the probabilities from `logsumexp` and
the dropout mask from the saved generator state, which is why nothing of size Q * S is kept.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo, rng
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@lowers(
    aten._scaled_dot_product_fused_attention_overrideable.default, runtime=("dropout_p", "scale")
)
def attention(
    out, query, key, value, attn_bias=None, dropout_p=0.0, is_causal=False,
    return_debug_mask=False, *, scale=None,
):  # fmt: skip
    q, k, v = (_four_d(x) for x in (query, key, value))
    scores = _scores(q, k, _bias(attn_bias, q, k), is_causal, _scale(scale, q))
    p, lse = softmax_and_lse(scores)
    seed, offset = hlo.full((), 0, torch.int64), hlo.full((), 0, torch.int64)
    if isinstance(dropout_p, Value) or dropout_p > 0:
        state = rng.draw_state(p.shape)
        seed, offset = saved_state(state)
        p = _dropped(p, state, dropout_p)
    y = hlo.reshape(hlo.convert(_weighted(p, v), out[0].dtype), out[0].shape)
    lse = hlo.convert(hlo.reshape(lse, out[1].shape), out[1].dtype)
    return y, lse, None, None, q.shape[2], k.shape[2], seed, offset, None


@lowers(aten._scaled_dot_product_fused_attention_overrideable_backward.default, runtime=("scale",))
def attention_backward(
    out, grad, query, key, value, attn_bias, mask, result, logsumexp, cum_seq_q, cum_seq_k,
    max_q, max_k, dropout_p, is_causal, philox_seed, philox_offset, *, scale=None,
):  # fmt: skip
    state = restored_state(philox_seed, philox_offset) if dropout_p > 0 else None
    grad, q, k, v = (_four_d(x) for x in (grad, query, key, value))
    lse = hlo.reshape(logsumexp, q.shape[:3])
    gradients = _gradients(grad, q, k, v, lse, attn_bias, dropout_p, state, is_causal, scale)
    return tuple(
        hlo.convert(hlo.reshape(g, meta.shape), meta.dtype) if meta is not None and wanted else None
        for g, meta, wanted in zip(gradients, out, mask, strict=True)
    )


@lowers(aten._scaled_dot_product_flash_attention_for_cpu.default, runtime=("scale",))
def attention_for_cpu(
    out, query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None
):
    """-> (output, logsumexp). Like the CPU's kernel it has no dropout."""
    if dropout_p > 0:
        raise RuntimeError("the CPU's flash attention does not support dropout")
    y, lse, *_ = attention(
        (*out, None), query, key, value, attn_mask, 0.0, is_causal, False, scale=scale
    )
    return y, lse


@lowers(aten._scaled_dot_product_flash_attention_for_cpu_backward.default, runtime=("scale",))
def attention_for_cpu_backward(
    out, grad, query, key, value, result, logsumexp, dropout_p, is_causal, *, attn_mask=None,
    scale=None,
):  # fmt: skip
    gradients = _gradients(
        grad, query, key, value, logsumexp, attn_mask, 0.0, None, is_causal, scale
    )
    return tuple(hlo.convert(g, meta.dtype) for g, meta in zip(gradients, out, strict=False))


def _four_d(x):
    return x if x.ndim == 4 else hlo.reshape(x, [1, *x.shape])


def _scale(scale, q):
    return 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale


def _bias(bias, q, k):
    """An additive float mask that broadcasts to [B, H, Q, S]; a bool one says what takes part."""
    if bias is None:
        return None
    if bias.dtype == torch.bool:
        bias = hlo.select(bias, hlo.full((), 0, torch.float32), -math.inf)
    return hlo.convert(bias, compute_dtype(q.dtype))


def _folded(x, kv_heads: int):
    """[B, H, Q, D] as [B, K, H / K * Q, D]: the heads that share a key head side by side."""
    b, h, q, d = x.shape
    return hlo.reshape(x, [b, kv_heads, h // kv_heads * q, d])


def batched_product(x, y, contract: tuple[int, int]):
    """x by y over the batch dimensions 0 and 1, contracting one dimension of each, in float32."""
    return hlo.dot_general(
        x,
        y,
        batch=([0, 1], [0, 1]),
        contract=([contract[0]], [contract[1]]),
        out_dtype=compute_dtype(x.dtype),
    )


def _scores(q, k, bias, causal: bool, scale):
    """[B, H, Q, S] in the compute dtype, masked positions -inf."""
    b, h, queries, _ = q.shape
    scores = batched_product(_folded(q, k.shape[1]), k, (3, 3))
    scores = hlo.reshape(scores, [b, h, queries, k.shape[2]])
    scores = scores * number(scale, scores)
    if bias is not None:
        scores = scores + bias
    if causal:
        shape = (queries, k.shape[2])
        seen = hlo.iota(shape, 0, torch.int32) >= hlo.iota(shape, 1, torch.int32)
        scores = hlo.select(seen, scores, -math.inf)
    return scores


def softmax_and_lse(scores):
    """(softmax over the last dimension, its logsumexp); a row of -inf gives zeros and -inf."""
    last = [scores.ndim - 1]
    if scores.shape[-1] == 0:
        return scores, hlo.full(scores.shape[:-1], -math.inf, scores.dtype)
    top = hlo.reduce(scores, last, "max", keepdim=True)
    top = hlo.select(top == -math.inf, 0.0, top)
    weights = hlo.exp(scores - top)
    total = hlo.reduce(weights, last, "add", keepdim=True)
    p = weights / hlo.select(total == 0.0, 1.0, total)
    return p, hlo.reshape(top + hlo.log(total), scores.shape[:-1])


def _weighted(p, v):
    """p[B, H, Q, S], rounded to v's dtype, by v[B, K, S, D] -> [B, H, Q, D]."""
    folded = _folded(hlo.convert(p, v.dtype), v.shape[1])
    return hlo.reshape(batched_product(folded, v, (3, 2)), [*p.shape[:3], v.shape[-1]])


def _dropped(p, state, dropout_p):
    """p with a random share `dropout_p` set to zero and the rest scaled up to keep the mean."""
    uniform = rng.uniform(p.shape, torch.float32, state)
    keep = hlo.convert(uniform, p.dtype) >= number(dropout_p, p)
    return hlo.select(keep, p / (1.0 - number(dropout_p, p)), 0.0)


def saved_state(state):
    """The generator's (seed, offset) as two int64 numbers."""
    parts = hlo.bitcast(state, torch.int64)
    return tuple(hlo.reshape(hlo.slice_dim(parts, 0, i, i + 1), []) for i in (0, 1))


def restored_state(seed, offset):
    parts = [hlo.reshape(hlo.convert(v, torch.int64), [1]) for v in (seed, offset)]
    return hlo.bitcast(hlo.concat(parts, 0), torch.uint64)


def _gradients(grad, q, k, v, lse, bias, dropout_p, state, causal, scale):
    """Gradients of q, k, v and the bias, in the compute dtype."""
    scale = _scale(scale, q)
    scores = _scores(q, k, _bias(bias, q, k), causal, scale)
    p = _probabilities(scores, lse)
    dropped = p if state is None else _dropped(p, state, dropout_p)
    grad_folded = _folded(grad, v.shape[1])
    dv = batched_product(_folded(hlo.convert(dropped, grad.dtype), v.shape[1]), grad_folded, (2, 2))
    dp = hlo.reshape(batched_product(grad_folded, v, (3, 3)), p.shape)
    dp = dp if state is None else _dropped(dp, state, dropout_p)
    # The sum of grad * result is the same, but the result is rounded to its dtype.
    along = hlo.reduce(p * dp, [3], "add", keepdim=True)
    dscores = p * (dp - along)
    narrow = _folded(hlo.convert(dscores, q.dtype), k.shape[1])
    dq = hlo.reshape(batched_product(narrow, k, (3, 2)), q.shape)
    dk = batched_product(narrow, _folded(q, k.shape[1]), (2, 2))
    factor = number(scale, dq)
    dbias = None if bias is None else _summed_to(dscores, bias.shape)
    return dq * factor, dk * number(scale, dk), dv, dbias


def _probabilities(scores, lse):
    """The softmax again. The saved logsumexp spares the search for the largest score; the sum is
    made anew, because its logarithm is rounded to fewer digits than exp needs."""
    lse = hlo.convert(hlo.reshape(lse, [*lse.shape, 1]), scores.dtype)
    weights = hlo.select(lse == -math.inf, 0.0, hlo.exp(scores - lse))
    total = hlo.reduce(weights, [weights.ndim - 1], "add", keepdim=True)
    return weights / hlo.select(total == 0.0, 1.0, total)


def _summed_to(x, shape):
    """x summed over the dimensions along which a value of `shape` was broadcast to it."""
    lead = x.ndim - len(shape)
    dims = list(range(lead))
    dims += [lead + d for d, n in enumerate(shape) if n == 1 and x.shape[lead + d] != 1]
    return hlo.reshape(hlo.reduce(x, dims, "add"), shape)
