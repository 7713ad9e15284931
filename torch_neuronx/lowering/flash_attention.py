"""The flash attention ops: whole batches, and packed documents (torch.nn.attention.varlen).

Dense, with a mask of who sees whom: a query sees the keys of its own document, and of them those
in its window, which is aligned to the documents' last tokens. Shape suffixes: B batch, T tokens, Q
of them queries, S keys, H query heads, K key heads, D head dim, N documents.
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
    """-> (output, logsumexp, generator state, unused, debug mask); [B, T, H, D], or [T, H, D] with
    documents. A page of the cache that `block_table` [N, pages] names is [tokens, K, D]."""
    if return_debug_mask or alibi_slopes is not None:
        raise NotImplementedError("flash attention with a debug mask or alibi slopes")
    queries = None if cum_seq_q is None else _packed(cum_seq_q, query.shape[0])
    keys = None if cum_seq_k is None else _packed(cum_seq_k, key.shape[0])
    if block_table is not None:
        key, value = (_unpaged(x, block_table) for x in (key, value))
        keys = _paged(block_table.shape[0], key.shape[0])
    if seqused_k is not None and keys is not None:
        keys = keys._replace(lengths=hlo.convert(seqused_k, torch.int32))
    window = _Window.of(window_size_left, window_size_right, is_causal)
    seen = _seen(query, key, queries, keys, window)
    q, k, v = (_by_head(x) for x in (query, key, value))
    metas = (_meta_by_head(out[0]), Meta(q.shape[:3], out[1].dtype, ()))
    y, lse, *_, seed, offset, _ = attention(metas, q, k, v, seen, dropout_p, scale=scale)
    state = [hlo.reshape(hlo.bitcast(x, torch.uint64), [1]) for x in (seed, offset)]
    return (
        _by_token(y, out[0].shape),
        hlo.reshape(lse, out[1].shape),
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
    queries = keys = None
    if query.ndim == 3:
        queries = _packed(cum_seq_q, query.shape[0])
        keys = _packed(cum_seq_k, key.shape[0])
    window = _Window.of(window_size_left, window_size_right, is_causal)
    seen = _seen(query, key, queries, keys, window)
    grad, q, k, v, result = (_by_head(x) for x in (grad, query, key, value, result))
    seed, offset = (hlo.slice_dim(hlo.bitcast(rng_state, torch.int64), 0, i, i + 1) for i in (0, 1))
    gradients = attention_backward(
        [*(_meta_by_head(m) for m in out), None], grad, q, k, v, seen, [True, True, True, False],
        result, logsumexp, None, None, max_q, max_k, dropout_p, False, seed, offset, scale=scale,
    )  # fmt: skip
    return tuple(_by_token(g, m.shape) for g, m in zip(gradients, out, strict=False))


class _Window(NamedTuple):
    """How many keys before and after its own place a query sees; None: all of them."""

    left: int | None
    right: int | None

    @classmethod
    def of(cls, left: int | None, right: int | None, is_causal: bool) -> _Window:
        """From an op's arguments, where negative numbers also stand for no limit."""
        left, right = (n if n is not None and n >= 0 else None for n in (left, right))
        return cls(left, 0 if is_causal else right)

    def sees(self, row: Value, column: Value) -> Value:
        """bool, of the places of queries and of keys."""
        seen = hlo.full(row.shape, True, torch.bool)
        if self.left is not None:
            seen = seen & (column >= row - self.left)
        if self.right is not None:
            seen = seen & (column <= row + self.right)
        return seen


class _Documents(NamedTuple):
    """Where N documents lie among T tokens."""

    own: Value  # bool [T, N]: whose token it is; nobody's past the last document
    starts: Value  # int32 [N]
    lengths: Value  # int32 [N]

    def of(self, x: Value) -> Value:
        """int32 [T]: what `x` [N] says of each token's document; 0 where it has none."""
        return hlo.reduce(hlo.select(self.own, hlo.broadcast_to(x, self.own.shape), 0), [1], "add")

    def number(self) -> Value:
        """int32 [T]: which document, from 1 on; 0 for none."""
        return self.of(hlo.iota(self.starts.shape, 0, torch.int32) + 1)


def _packed(cumulative: Value, tokens: int) -> _Documents:
    """Documents that follow each other, document n from token cumulative[n] on."""
    bounds, count = hlo.convert(cumulative, torch.int32), cumulative.numel - 1
    starts, ends = hlo.slice_dim(bounds, 0, 0, count), hlo.slice_dim(bounds, 0, 1, count + 1)
    token = hlo.iota((tokens, count), 0, torch.int32)
    return _Documents((token >= starts) & (token < ends), starts, ends - starts)


def _paged(documents: int, tokens: int) -> _Documents:
    """Documents that have the same room each."""
    room, shape = tokens // documents, (tokens, documents)
    own = hlo.iota(shape, 0, torch.int32) / room == hlo.iota(shape, 1, torch.int32)
    starts = hlo.iota((documents,), 0, torch.int32) * room
    return _Documents(own, starts, hlo.full((documents,), room, torch.int32))


def _unpaged(pool: Value, block_table: Value) -> Value:
    """[N * pages * tokens, K, D] of a pool of pages [.., tokens, K, D]."""
    pages = take(pool, 0, hlo.convert(block_table, torch.int32))
    return hlo.reshape(pages, (-1, *pool.shape[2:]))


def _seen(
    query: Value, key: Value, queries: _Documents | None, keys: _Documents | None, window: _Window
) -> Value:
    """bool [Q, S]: whether a query sees a key."""
    shape = (query.shape[-3], key.shape[-3])
    row, column = hlo.iota(shape, 0, torch.int32), hlo.iota(shape, 1, torch.int32)
    if queries is None or keys is None:
        return window.sees(row + (shape[1] - shape[0]), column)
    row = row + hlo.expand_dims(queries.of(keys.lengths - queries.lengths - queries.starts), 1)
    column = column - keys.of(keys.starts)
    number = hlo.expand_dims(queries.number(), 1)
    own = (number == keys.number()) & (number > 0) & (column < keys.of(keys.lengths))
    return own & window.sees(row, column)


def _by_head(x: Value) -> Value:
    """[B, T, H, D] or [T, H, D] as [B, H, T, D]."""
    x = x if x.ndim == 4 else hlo.expand_dims(x, 0)
    return hlo.transpose(x, [0, 2, 1, 3])


def _by_token(x: Value, shape: tuple[int, ...]) -> Value:
    return hlo.reshape(hlo.transpose(x, [0, 2, 1, 3]), shape)


def _meta_by_head(meta: Meta) -> Meta:
    t, h, d = meta.shape[-3:]
    return meta._replace(shape=(*(meta.shape[:-3] or (1,)), h, t, d))
