"""The inference paths of nn.MultiheadAttention and nn.TransformerEncoderLayer on nested input.

Each is one op that PyTorch's modules choose. Here the items are padded, the op runs on the batch
with the padding masked, and the padding is dropped.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.nested import parts

aten = torch.ops.aten
_KEY_PADDING = 1  # a mask_type: the mask is [batch, keys]


@computes("nested", aten._transformer_encoder_layer_fwd.default)
def encoder_layer(src: Tensor, *arguments: Any) -> Tensor:
    if arguments[-2] is not None:
        raise RuntimeError(
            "a mask and a nested tensor exclude each other: the lengths are the mask"
        )
    values, padding = parts.padded(src)
    out = aten._transformer_encoder_layer_fwd(values, *arguments[:-2], padding, _KEY_PADDING)
    return parts.unpadded(out, src)


@computes("nested", aten._native_multi_head_attention.default)
def multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, *arguments: Any
) -> tuple[Tensor, Tensor | None]:
    """`arguments` end in mask, need_weights, average_attn_weights and mask_type."""
    *projections, mask, need_weights, average, _ = arguments
    if mask is not None or need_weights:
        raise RuntimeError("attention of nested tensors takes no mask and returns no weights")
    if not parts.sizes(query).equal(parts.sizes(key)):
        raise RuntimeError(
            "attention of nested tensors: expected queries and keys of equal lengths"
        )
    (q, padding), (k, _), (v, _) = (parts.padded(x) for x in (query, key, value))
    same = (q, q, q) if query is key and key is value else (q, k, v)
    out, _ = aten._native_multi_head_attention(
        *same, *projections, padding, False, average, _KEY_PADDING
    )
    return parts.unpadded(out, query), None


@computes("nested", aten._transform_bias_rescale_qkv.default)
def transform_bias_rescale_qkv(*_: Any) -> Any:
    raise NotImplementedError(
        "_transform_bias_rescale_qkv of a nested tensor is not implemented on neuron; use "
        "layout=torch.jagged"
    )
