"""Compressed tensors into blocks: BSR and BSC from CSR and CSC.

How many blocks have an entry is read by the host.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.sparse import coo
from torch_neuronx.sparse.compressed import entries
from torch_neuronx.sparse.index_programs import put, segments
from torch_neuronx.sparse.registry import computes

aten = torch.ops.aten


@computes("sparse_compressed", aten._to_sparse_bsr.default)
def to_bsr(self: Tensor, blocksize: list[int], dense_dim: int | None = None) -> Tensor:
    return _to_blocks(self, tuple(blocksize), torch.sparse_bsr)


@computes("sparse_compressed", aten._to_sparse_bsc.default)
def to_bsc(self: Tensor, blocksize: list[int], dense_dim: int | None = None) -> Tensor:
    return _to_blocks(self, tuple(blocksize), torch.sparse_bsc)


def _to_blocks(self: Tensor, block: tuple[int, ...], layout: torch.layout) -> Tensor:
    if self.layout is layout and self.values().shape[-2:] == block:
        return self
    if self.dim() != 2 or len(block) != 2:
        raise NotImplementedError(f"to {layout}: neuron has it for matrices, got {self.dim()}-D")
    if any(size % b for size, b in zip(self.shape, block, strict=True)):
        raise RuntimeError(
            f"tensor sparse size ({self.shape[0]}, {self.shape[1]}) must be divisible by given"
            f" blocksize ({block[0]}, {block[1]})"
        )
    indices, values = entries(self)
    outer = torch.stack([i // b for i, b in zip(indices, block, strict=True)])
    inner = torch.stack([i % b for i, b in zip(indices, block, strict=True)])
    counts = [size // b for size, b in zip(self.shape, block, strict=True)]
    if layout is torch.sparse_bsc:
        outer, counts = outer.flip(0), counts[::-1]
    compressed, plain, values = _gathered(outer, inner, values, counts, block)
    return aten._sparse_compressed_tensor_unsafe(
        compressed, plain, values, list(self.shape), layout=layout
    )


def _gathered(outer: Tensor, inner: Tensor, values: Tensor, counts, block):
    """Where each compressed row of blocks begins, the blocks' other index, and their values."""
    if not values.shape[0]:
        begins = outer.new_zeros(counts[0] + 1)
        return begins, outer[1], values.new_zeros((0, *block))
    order, segment, count = segments(outer, counts)
    filled = coo.read(count)
    place = outer.index_select(1, order)
    place = put(place.new_zeros(filled, 2), segment, place.t())
    at = inner.index_select(1, order)
    flat = segment * (block[0] * block[1]) + at[0] * block[1] + at[1]
    whole = values.new_zeros(filled * block[0] * block[1])
    whole = put(whole, flat, values.index_select(0, order)).view(filled, *block)
    row = place[:, 0].contiguous()
    begins = aten._convert_indices_from_coo_to_csr(row, counts[0], out_int32=False)
    return begins, place[:, 1].contiguous(), whole
