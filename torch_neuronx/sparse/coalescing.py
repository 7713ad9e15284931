"""coalesce(): entries in row-major order, one per place, values of equal places added.

How many places there are is read by the host; sorting and adding happen on the device. Other
kernels get ordered parts from `ordered`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.index_programs import segments
from torch_neuronx.sparse.value_programs import merge

aten = torch.ops.aten


@computes("sparse_coo", aten._coalesce.default)
def coalesce(self: Tensor) -> Tensor:
    indices, values, sizes = coo.parts(self)
    if indices.shape[1] < 2:
        return aten._coalesced_(self.clone(), True)
    order, segment, count = segments(indices, sizes)
    indices, values = merge(indices, values, order, segment, coo.read(count))
    return coo.made(indices, values, self.shape, coalesced=True)


def ordered(x: Tensor) -> tuple[Tensor, Tensor, list[int]]:
    """The parts of `x`, coalesced first if it is not yet."""
    return coo.parts(x if x.is_coalesced() else coalesce(x))
