"""The inference fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer.

Each is one op to the dispatcher and one program here. Masks are bool, true where nothing is
attended to; a row masked throughout gives NaN, as on CPU. Shape suffixes: B batch, T tokens, E
embedding, H heads, D head dim, S keys. Nested tensors never reach these rules.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.activation import normal_cdf
from torch_neuronx.lowering.attention import batched_product
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.elementwise import number
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.softmax import along, shifted

aten = torch.ops.aten

_PER_QUERY, _PER_KEY = 0, 1


@infers(aten._masked_softmax.default)
def _infer_masked_softmax(x, mask, dim=None, mask_type=None):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@lowers(aten._masked_softmax.default)
def masked_softmax(out, x, mask, dim=None, mask_type=None):
    y = _softmax(hlo.convert(x, compute_dtype(x.dtype)), mask, mask_type, _last(x, dim))
    return hlo.convert(y, out.dtype)


@infers(aten._masked_softmax_backward.default)
def _infer_masked_softmax_backward(grad, output, mask, dim=None):
    return torch.empty_like(grad, memory_format=torch.contiguous_format)


@lowers(aten._masked_softmax_backward.default)
def masked_softmax_backward(out, grad, output, mask, dim=None):
    grad, y = (hlo.convert(v, compute_dtype(out.dtype)) for v in (grad, output))
    y = hlo.select(_to_scores(mask, None, y), 0.0, y)
    return hlo.convert((grad - along(grad * y, _last(y, dim), "add")) * y, out.dtype)


def _last(x, dim: int | None) -> int:
    return x.ndim - 1 if dim is None else hlo.wrap_dim(dim, x.ndim)


def _softmax(scores, mask, mask_type: int | None, dim: int):
    if mask is not None:
        scores = hlo.select(_to_scores(mask, mask_type, scores), -math.inf, scores)
    weights = hlo.exp(shifted(scores, dim))
    return weights / along(weights, dim, "add")


def _to_scores(mask, mask_type: int | None, scores):
    """A [T, S], [B, S] or full mask as bool that broadcasts to scores[B, H, T, S]."""
    mask = hlo.convert(mask, torch.bool)
    if mask.ndim == 2 and scores.ndim == 4 and mask_type == _PER_KEY:
        return hlo.reshape(mask, [mask.shape[0], 1, 1, mask.shape[1]])
    return mask


@infers(aten._transform_bias_rescale_qkv.default)
def _infer_transform_bias_rescale_qkv(qkv, qkv_bias, num_heads):
    b, t, width = qkv.shape
    return tuple(qkv.new_empty(b, num_heads, t, width // 3 // num_heads) for _ in range(3))


@lowers(aten._transform_bias_rescale_qkv.default)
def transform_bias_rescale_qkv(out, qkv, qkv_bias, num_heads):
    """qkv[B, T, 3E] plus its bias as scaled q, and k and v, each [B, H, T, D]."""
    dtype = compute_dtype(qkv.dtype)
    biased = hlo.convert(qkv, dtype) + hlo.convert(qkv_bias, dtype)
    width = qkv.shape[2] // 3
    parts = [hlo.slice_dim(biased, 2, i * width, (i + 1) * width) for i in range(3)]
    q, k, v = (_by_head(p, num_heads) for p in parts)
    return tuple(hlo.convert(p, m.dtype) for p, m in zip((_scaled(q), k, v), out, strict=True))


def _by_head(x, heads: int):
    b, t, e = x.shape
    return hlo.transpose(hlo.reshape(x, [b, t, heads, e // heads]), [0, 2, 1, 3])


def _scaled(q):
    return q * (1.0 / math.sqrt(q.shape[-1]))


@infers(aten._native_multi_head_attention.default)
def _infer_multi_head_attention(*args):
    output, weights = aten._native_multi_head_attention.default(*args)
    need_weights = args[10] if len(args) > 10 else True
    return output, weights if need_weights else None


@lowers(aten._native_multi_head_attention.default)
def multi_head_attention(
    out, query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias,
    mask=None, need_weights=True, average_attn_weights=True, mask_type=None,
):  # fmt: skip
    q, k, v = _projected((query, key, value), qkv_weight, qkv_bias, num_head)
    p = _softmax(batched_product(_scaled_as(q, query), k, (3, 3)), mask, mask_type, 3)
    joined = _attended(p, v, query)
    y = hlo.convert(_linear(joined, proj_weight, proj_bias), out[0].dtype)
    if not need_weights or out[1] is None:
        return y, None
    if average_attn_weights:
        p = hlo.reduce(p, [1], "add") / float(num_head)
    return y, hlo.convert(p, out[1].dtype)


@lowers(aten._transformer_encoder_layer_fwd.default, runtime=("eps",))
def transformer_encoder_layer(
    out, src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu,
    norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1,
    ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None,
):  # fmt: skip
    def norm_1(x):
        return _layer_norm(x, norm_weight_1, norm_bias_1, eps)

    def norm_2(x):
        return _layer_norm(x, norm_weight_2, norm_bias_2, eps)

    def attend(x):
        q, k, v = _projected((x, x, x), qkv_weight, qkv_bias, num_heads)
        p = _softmax(batched_product(_scaled_as(q, src), k, (3, 3)), mask, mask_type, 3)
        return _linear(_attended(p, v, src), proj_weight, proj_bias)

    def feed_forward(x):
        hidden = _linear(x, ffn_weight_1, ffn_bias_1)
        hidden = hidden * normal_cdf(hidden) if use_gelu else hlo.max(hidden, 0.0)
        return _linear(hlo.convert(hidden, src.dtype), ffn_weight_2, ffn_bias_2)

    x = hlo.convert(src, compute_dtype(src.dtype))
    for norm, part in ((norm_1, attend), (norm_2, feed_forward)):
        taken = norm(x) if norm_first else x
        x = x + part(hlo.convert(taken, src.dtype))
        x = x if norm_first else norm(x)
    return hlo.convert(x, out.dtype)


def _projected(inputs, weight, bias, heads: int):
    """q, k and v [B, H, T, D] of three inputs by the thirds of one weight [3E, E]."""
    width = weight.shape[0] // 3
    parts = []
    for i, x in enumerate(inputs):
        rows = [hlo.slice_dim(v, 0, i * width, (i + 1) * width) for v in (weight, bias)]
        parts.append(_by_head(hlo.convert(_linear(x, *rows), x.dtype), heads))
    return parts


def _scaled_as(q, like):
    return hlo.convert(_scaled(hlo.convert(q, compute_dtype(like.dtype))), like.dtype)


def _attended(p, v, like):
    """The heads' weighted values, joined: [B, T, E]."""
    y = hlo.transpose(batched_product(hlo.convert(p, like.dtype), v, (3, 2)), [0, 2, 1, 3])
    return hlo.convert(hlo.reshape(y, [*y.shape[:2], y.shape[2] * y.shape[3]]), like.dtype)


def _linear(x, weight, bias):
    """x by weight[out, in] plus bias, in the compute dtype."""
    dtype = compute_dtype(x.dtype)
    y = hlo.dot_general(x, weight, contract=([x.ndim - 1], [1]), out_dtype=dtype)
    return y + hlo.convert(bias, dtype)


def _layer_norm(x, weight, bias, eps):
    width = float(x.shape[-1])
    centred = x - along(x, 2, "add") / width
    variance = along(centred * centred, 2, "add") / width
    normal = centred * hlo.rsqrt(variance + number(eps, variance))
    return normal * hlo.convert(weight, x.dtype) + hlo.convert(bias, x.dtype)
