"""index_select on COO tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.index_programs import runs, unroll
from torch_neuronx.sparse.value_programs import columns

aten = torch.ops.aten


@computes("sparse_coo", aten.index_select.default)
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Along a sparse dimension, each number in `index` takes the entries that have it; how many
    they are together is read by the host."""
    dim = _checked(self, dim, index)
    indices, values, sizes = coo.parts(self)
    shape = list(self.shape)
    shape[dim] = index.numel()
    if dim >= len(sizes):
        values = values.index_select(dim - len(sizes) + 1, index)
        return coo.made(indices, values, shape, coalesced=self.is_coalesced())
    _check_range(self, index, dim)
    index = torch.where(index < 0, index + sizes[dim], index).to(torch.int64)
    present, order = torch.sort(indices[dim], stable=True)
    begin, end = runs(present, index)
    total = coo.read(end[-1]) if end.numel() else 0
    if not total:
        return coo.made(indices[:, :0], values[:0], shape, coalesced=self.is_coalesced())
    place, position = unroll(begin, end, total)
    entry = order.index_select(0, position)
    picked = columns(indices, entry)
    picked = torch.cat([picked[:dim], place.unsqueeze(0), picked[dim + 1 :]])
    coalesced = self.is_coalesced() and dim == 0
    return coo.made(picked, values.index_select(0, entry), shape, coalesced=coalesced)


def _checked(self: Tensor, dim: int, index: Tensor) -> int:
    if self.dim() == 0:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    if not -self.dim() <= dim < self.dim():
        raise IndexError(
            "Dimension out of range (expected to be in range of"
            f" [{-self.dim()}, {self.dim() - 1}], but got {dim})"
        )
    if index.dim() != 1 or index.layout is not torch.strided:
        raise IndexError(
            "index_select() argument index must be 1-D strided (non-sparse) long-tensor."
        )
    if index.dtype not in (torch.int32, torch.int64):
        raise IndexError("index_select() argument index must be of type int or long.")
    return dim % self.dim()


def _check_range(self: Tensor, index: Tensor, dim: int) -> None:
    size = self.shape[dim]
    if not index.numel():
        return
    outside = (index >= size) | (index < -size)
    if outside.any():
        worst = int(index[outside][0])
        raise IndexError(
            f"index_select(): index contains {worst} that is out of range for tensor of size"
            f" {list(self.shape)} at dimension {dim}"
        )
