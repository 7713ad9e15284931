"""The flash attention ops: whole batches, and packed documents (torch.nn.attention.varlen).

Documents are laid out as a batch, each with room for the longest, so that none meets another; they
attend there behind a mask and are packed again. Shape suffixes: B batch or documents, T tokens of
all documents, Q queries and S keys of one, H query heads, K key heads, D head dim.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take
from torch_neuronx.lowering.attention import attention, attention_backward
from torch_neuronx.lowering.registry import infers, lowers
from torch_neuronx.lowering.value import Meta, Value

aten = torch.ops.aten


@infers(aten._flash_attention_forward.default, without_cpu_kernel=True)
def _infer(query, *_, **__):
    rows = (*query.shape[:-3], query.shape[-2], query.shape[-3])
    return (
        torch.empty_like(query),
        query.new_empty(rows, dtype=torch.float32),
        query.new_empty(2, dtype=torch.uint64),
        query.new_empty((), dtype=torch.uint64),
        query.new_empty(0),
    )


@lowers(aten._flash_attention_forward.default, runtime=("scale",))
def flash_attention(
    out, query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
    return_debug_mask, *, scale=None, window_size_left=None, window_size_right=None,
    seqused_k=None, alibi_slopes=None, block_table=None, num_splits=None,
):  # fmt: skip
    """-> (output, logsumexp, generator state, unused, debug mask). Tensors are [B, T, H, D], or
    with documents [T, H, D]; keys may be in a pool of pages [.., tokens, K, D], of which
    `block_table` [B, pages] says where each document's are."""
    if return_debug_mask or alibi_slopes is not None:
        raise NotImplementedError("flash attention with a debug mask or alibi slopes")
    if block_table is not None:
        key, value = (_unpaged(x, block_table) for x in (key, value))
    queries, keys = _layout(query, cum_seq_q, max_q), _layout(key, cum_seq_k, max_k)
    if seqused_k is not None:
        keys = keys._replace(lengths=hlo.convert(seqused_k, torch.int32))
    seen = _seen(queries, keys, window_size_left, window_size_right, is_causal)
    q, k, v = queries.spread(query), keys.spread(key), keys.spread(value)
    metas = Meta(q.shape, out[0].dtype, ()), Meta(q.shape[:3], out[1].dtype, ())
    y, lse, *_, seed, offset, _ = attention(metas, q, k, v, seen, dropout_p, scale=scale)
    lse = queries.pack(hlo.expand_dims(lse, 3))
    state = [hlo.reshape(hlo.bitcast(x, torch.uint64), [1]) for x in (seed, offset)]
    return (
        queries.pack(y),
        hlo.reshape(_swapped(lse), out[1].shape),
        hlo.concat(state, 0),
        hlo.full((), 0, torch.uint64),
        hlo.full((0,), 0, query.dtype),
    )


@infers(aten._flash_attention_backward.default, without_cpu_kernel=True)
def _infer_backward(grad, query, key, value, *_, **__):
    return tuple(torch.empty_like(x) for x in (query, key, value))


@lowers(aten._flash_attention_backward.default, runtime=("scale",))
def flash_attention_backward(
    out, grad, query, key, value, result, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
    is_causal, rng_state, unused, *, scale=None, window_size_left=None, window_size_right=None,
):  # fmt: skip
    packed = query.ndim == 3
    queries = _layout(query, cum_seq_q if packed else None, max_q)
    keys = _layout(key, cum_seq_k if packed else None, max_k)
    seen = _seen(queries, keys, window_size_left, window_size_right, is_causal)
    grad, q, result = (queries.spread(x) for x in (grad, query, result))
    k, v = keys.spread(key), keys.spread(value)
    lse = queries.spread(_swapped(hlo.expand_dims(logsumexp, logsumexp.ndim)))
    seed, offset = (hlo.slice_dim(hlo.bitcast(rng_state, torch.int64), 0, i, i + 1) for i in (0, 1))
    metas = [Meta(x.shape, m.dtype, ()) for x, m in zip((q, k, v), out, strict=True)]
    dq, dk, dv, _ = attention_backward(
        [*metas, None], grad, q, k, v, seen, [True, True, True, False], result,
        hlo.reshape(lse, lse.shape[:3]), None, None, max_q, max_k, dropout_p, False, seed, offset,
        scale=scale,
    )  # fmt: skip
    return queries.pack(dq), keys.pack(dk), keys.pack(dv)


class _Layout(NamedTuple):
    """Where tokens [B, T, H, D], or documents' tokens [T, H, D], are in a batch [B, H, room, D]."""

    room: int
    lengths: Value  # int32 [B]
    place: Value | None  # int32 [T]: the token's place among B * room, and past them if it has none
    token: Value | None  # int32 [B * room]: the token at that place, and past them if there is none

    def spread(self, x: Value) -> Value:
        """The batch, with zeros where a document is shorter."""
        if self.token is not None:
            rows = _rows(x, self.token)
            x = hlo.reshape(rows, (-1, self.room, *x.shape[1:]))
        return hlo.transpose(x, [0, 2, 1, 3])

    def pack(self, x: Value) -> Value:
        x = hlo.transpose(x, [0, 2, 1, 3])
        if self.place is None:
            return x
        return _rows(hlo.reshape(x, (-1, *x.shape[2:])), self.place)


def _layout(x: Value, cumulative: Value | None, longest: int) -> _Layout:
    """Of `x`, whose document b begins with token cumulative[b]; else of a batch, row by row."""
    if cumulative is None:
        lengths = hlo.full((x.shape[0],), x.shape[1], torch.int32)
        return _Layout(x.shape[1], lengths, None, None)
    bounds, count, tokens = hlo.convert(cumulative, torch.int32), cumulative.numel - 1, x.shape[0]
    starts, ends = hlo.slice_dim(bounds, 0, 0, count), hlo.slice_dim(bounds, 0, 1, count + 1)
    shape = (tokens, count)
    token, document = hlo.iota(shape, 0, torch.int32), hlo.iota(shape, 1, torch.int32)
    inside = (token >= starts) & (token < ends) & (token < starts + longest)
    nowhere = count * longest
    place = hlo.select(inside, document * longest + token - starts, nowhere)
    at = hlo.iota((count, longest), 1, torch.int32)
    column = hlo.expand_dims(starts, 1)
    there = at < hlo.expand_dims(ends - starts, 1)
    return _Layout(
        longest,
        ends - starts,
        hlo.reduce(place, [1], "min"),
        hlo.reshape(hlo.select(there, column + at, tokens), (nowhere,)),
    )


def _rows(x: Value, index: Value) -> Value:
    """x[index] along dimension 0; zeros for an index past its end."""
    if not x.shape[0]:
        return hlo.full((*index.shape, *x.shape[1:]), 0, x.dtype)
    there = hlo.reshape(index < x.shape[0], (-1, *[1] * (x.ndim - 1)))
    return hlo.select(there, take(x, 0, hlo.min(index, x.shape[0] - 1)), 0)


def _unpaged(pool: Value, block_table: Value) -> Value:
    """[B, pages * tokens, K, D] of a pool [.., tokens, K, D]."""
    pages = take(pool, 0, hlo.convert(block_table, torch.int32))
    return hlo.reshape(pages, (block_table.shape[0], -1, *pool.shape[2:]))


def _seen(
    queries: _Layout, keys: _Layout, left: int | None, right: int | None, is_causal: bool
) -> Value:
    """bool [B, 1, Q, S]: whether a query sees a key. The window is as many keys before (`left`) and
    after (`right`) the query's own place, None or -1 for all; last query and last key are level."""
    shape = (queries.lengths.numel, 1, queries.room, keys.room)
    column = hlo.iota(shape, 3, torch.int32)
    shift, length = (
        hlo.reshape(x, (-1, 1, 1, 1)) for x in (keys.lengths - queries.lengths, keys.lengths)
    )
    row = hlo.iota(shape, 2, torch.int32) + shift
    seen = column < length
    if left is not None and left >= 0:
        seen = seen & (column >= row - left)
    if is_causal:
        right = 0
    if right is not None and right >= 0:
        seen = seen & (column <= row + right)
    return seen


def _swapped(x: Value) -> Value:
    """[.., A, B, C] as [.., B, A, C]."""
    lead = x.ndim - 3
    return hlo.transpose(x, [*range(lead), lead + 1, lead, lead + 2])
