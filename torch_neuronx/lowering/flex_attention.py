"""flex_attention and its gradient, dense: the scores of all pairs, modified and masked.

What may be seen is what the mask_mod says; a block mask's lists of blocks, which tell a sparse
kernel where it need not look, are not used. Statistics are in base 2, as PyTorch has them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._higher_order_ops.flex_attention import (
    flex_attention,
    flex_attention_backward,
    math_attention,
    sdpa_dense_backward,
)

from torch_neuronx.lowering import definition, hlo
from torch_neuronx.lowering.registry import lowers_higher_order
from torch_neuronx.lowering.value import Meta, Value


@lowers_higher_order(flex_attention)
def _flex_attention(run, out, *args):
    """-> (output, logsumexp, largest scores)"""
    return _as_told(out, definition.lower(run, math_attention, *args))


@lowers_higher_order(flex_attention_backward)
def _flex_attention_backward(
    run, out, query, key, value, result, logsumexp, grad, grad_logsumexp, score_mod, joint, *rest
):
    """-> (gradients of query, key and value, those of what score_mod captures)"""
    (returned,) = joint.graph.find_nodes(op="output")
    differentiable = [isinstance(g, fx.Node) for g in returned.args[0][5:]]

    def backward(*args):
        *_, captured, _ = args
        for tensor, wanted in zip(captured, differentiable, strict=True):
            if wanted:
                tensor.requires_grad_()
        return sdpa_dense_backward(*_with_precise_statistics(args))

    tensors = (query, key, value, result, logsumexp, grad, grad_logsumexp)
    return _as_told(out, definition.lower(run, backward, *tensors, score_mod, joint, *rest))


def _with_precise_statistics(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The logsumexp of float64 scores is saved in float32: then it is computed again."""
    query, key, value, result, logsumexp, *grads, score_mod, joint = args[:9]
    if query.dtype == torch.float64:
        logsumexp = math_attention(query, key, value, score_mod, *args[9:])[1]
    return query, key, value, result, logsumexp, *grads, score_mod, joint, *args[9:]


def _as_told(out: Any, got: Any) -> Any:
    """Results as their metadata has them: with its dtypes, and zeros where there is no gradient."""
    if isinstance(out, Meta):
        return (
            hlo.convert(got, out.dtype)
            if isinstance(got, Value)
            else hlo.full(out.shape, 0, out.dtype)
        )
    if out is None:
        return None
    return tuple(_as_told(o, g) for o, g in zip(out, got, strict=True))
