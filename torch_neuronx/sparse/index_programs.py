"""Programs about where the entries of a sparse tensor are.

`indices` is int64[D, nnz], one column per entry, `sizes` the D sizes that they index. An entry's
*key* is its position in row-major order. Entries with equal keys form a *segment*; segments are
numbered by ascending key.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._decomp import register_decomposition

from torch_neuronx.sparse.program import program

aten = torch.ops.aten


def take(x: Tensor, *index: Tensor) -> Tensor:
    """x[index], which is known to be in range: not checked, so the host does not wait."""
    return aten._unsafe_index(x, list(index))


def put(x: Tensor, index: Tensor, values: Tensor, *, add: bool = False) -> Tensor:
    """`x` with rows written (or added) at `index`, which is known to be in range."""
    return aten._unsafe_index_put(x, [index], values, add)


def keys(indices: Tensor, sizes: list[int]) -> Tensor:
    """int64[nnz]; zeros where there is no dimension."""
    key = torch.zeros(indices.shape[1], dtype=torch.int64, device=indices.device)
    for d, size in enumerate(sizes):
        key = key * size + indices[d] if d else indices[0].to(torch.int64)
    return key


def numbered(key: Tensor) -> tuple[Tensor, Tensor]:
    """The stable order of the keys, and in that order each one's segment."""
    ordered, order = torch.sort(key, stable=True)
    begins = (ordered[1:] != ordered[:-1]).cumsum(0)
    return order, torch.cat([begins.new_zeros(1), begins])


@program("segments(Tensor indices, int[] sizes) -> (Tensor, Tensor, Tensor)")
def segments(indices: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """`numbered`, and how many segments there are (0-d). nnz > 0."""
    order, segment = numbered(keys(indices, sizes))
    return order, segment, segment[-1] + 1


@program("find(Tensor indices, Tensor at, int[] sizes) -> (Tensor, Tensor)")
def find(indices: Tensor, at: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """For each column of `at`, where the sorted `indices` have it, and whether they do. nnz > 0."""
    key, wanted = keys(indices, sizes), keys(at, sizes)
    position = torch.searchsorted(key, wanted).clamp(max=key.shape[0] - 1)
    return position, take(key, position) == wanted


@program("runs(Tensor ordered, Tensor wanted) -> (Tensor, Tensor)")
def runs(ordered: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """For each wanted number, where its run of equal ones in `ordered` begins, and the ends of all
    runs laid one after the other: the last of those is their total length."""
    begin = torch.searchsorted(ordered, wanted)
    length = torch.searchsorted(ordered, wanted, right=True) - begin
    return begin, length.cumsum(0)


@program("unroll(Tensor begin, Tensor end, int total) -> (Tensor, Tensor)")
def unroll(begin: Tensor, end: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """Of `runs` laid one after the other: which run each element is of, and its position."""
    place = torch.arange(total, device=begin.device)
    run = torch.searchsorted(end, place, right=True).clamp(max=end.shape[0] - 1)
    previous = torch.cat([end.new_zeros(1), end[:-1]])
    return run, take(begin - previous, run) + place


@register_decomposition(aten._convert_indices_from_coo_to_csr.default)
def coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of `size` rows begins among sorted row numbers, then their count."""
    row = torch.arange(size + 1, device=self.device, dtype=self.dtype)
    return torch.searchsorted(self, row, out_int32=out_int32)


@register_decomposition(aten._convert_indices_from_csr_to_coo.default)
def csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """[batch dims + 2, entries]; each batch has the same number of entries."""
    dtype = torch.int32 if out_int32 else torch.int64
    batch, nnz = col_indices.shape[:-1], col_indices.shape[-1]
    place = torch.arange(nnz, device=crow_indices.device, dtype=crow_indices.dtype)
    place = place.expand(*batch, nnz).contiguous()
    row = (torch.searchsorted(crow_indices, place, right=True) - 1).to(dtype)
    plain = [col_indices.to(dtype), row] if transpose else [row, col_indices.to(dtype)]
    outer = [
        torch.arange(size, device=row.device, dtype=dtype)
        .view([-1 if i == d else 1 for i in range(len(batch))] + [1])
        .expand(*batch, nnz)
        for d, size in enumerate(batch)
    ]
    return torch.stack([t.reshape(-1) for t in [*outer, *plain]])


@program("flip(Tensor compressed, Tensor plain, int size) -> (Tensor, Tensor, Tensor)")
def flip(compressed: Tensor, plain: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Compressed along the other dimension, of `size`: where each of its rows begins, the other
    index of each entry, and the order of the entries in all batches together."""
    batch, nnz = plain.shape[:-1], plain.shape[-1]
    place = torch.arange(nnz, device=plain.device, dtype=plain.dtype).expand(plain.shape)
    other = (torch.searchsorted(compressed, place.contiguous(), right=True) - 1).to(plain.dtype)
    ordered, order = torch.sort(plain, stable=True, dim=-1)
    row = torch.arange(size + 1, device=plain.device, dtype=plain.dtype).expand(*batch, size + 1)
    begins = torch.searchsorted(ordered, row.contiguous()).to(plain.dtype)
    outer = torch.arange(batch.numel(), device=plain.device).unsqueeze(1) * nnz
    return begins, other.gather(-1, order), (order.view(-1, nnz) + outer).view(-1)
