"""Conversions among the compressed layouts.

Between rows and columns (CSR and CSC, BSR and BSC of the same blocks) the entries are sorted the
other way. Into blocks, the host reads how many blocks have an entry.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.compressed import entries, made, parts
from torch_neuronx.sparse.index_programs import flip, put, segments

aten = torch.ops.aten


_OTHER = {
    torch.sparse_csr: torch.sparse_csc,
    torch.sparse_csc: torch.sparse_csr,
    torch.sparse_bsr: torch.sparse_bsc,
    torch.sparse_bsc: torch.sparse_bsr,
}


@computes("sparse_compressed", aten._to_sparse_csr.default)
def to_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return _to_plain(self, torch.sparse_csr)


@computes("sparse_compressed", aten._to_sparse_csc.default)
def to_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return _to_plain(self, torch.sparse_csc)


def _to_plain(self: Tensor, layout: torch.layout) -> Tensor:
    if self.layout is layout:
        return self
    if self.layout is _OTHER[layout]:
        return _flipped(self)
    return self.to_sparse().to_sparse(layout=layout)


def _flipped(self: Tensor) -> Tensor:
    compressed, plain, values = parts(self)
    batches = plain.dim() - 1
    block = 1 if self.layout in (torch.sparse_csr, torch.sparse_csc) else values.shape[-1]
    block = values.shape[-2] if self.layout is torch.sparse_bsc else block
    by_row = self.layout in (torch.sparse_csr, torch.sparse_bsr)
    size = self.shape[batches + by_row] // block
    begins, other, order = flip(compressed, plain, size)
    values = values.flatten(0, batches).index_select(0, order).view(values.shape)
    return made(begins, other, values, self.shape, _OTHER[self.layout])


@computes("sparse_compressed", aten._to_sparse_bsr.default)
def to_bsr(self: Tensor, blocksize: list[int], dense_dim: int | None = None) -> Tensor:
    return _to_blocks(self, tuple(blocksize), torch.sparse_bsr)


@computes("sparse_compressed", aten._to_sparse_bsc.default)
def to_bsc(self: Tensor, blocksize: list[int], dense_dim: int | None = None) -> Tensor:
    return _to_blocks(self, tuple(blocksize), torch.sparse_bsc)


def _to_blocks(self: Tensor, block: tuple[int, ...], layout: torch.layout) -> Tensor:
    is_kin = self.layout in (layout, _OTHER[layout])
    if is_kin and self.values().shape[-2:] == block:
        return self if self.layout is layout else _flipped(self)
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
    return made(compressed, plain, values, self.shape, layout)


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
