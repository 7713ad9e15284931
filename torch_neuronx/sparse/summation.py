"""The gradient of torch.sparse.sum."""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.coalescing import ordered
from torch_neuronx.sparse.value_programs import lookup

aten = torch.ops.aten


@computes("sparse_coo", aten._sparse_sum_backward.default)
def sparse_sum_backward(grad: Tensor, self: Tensor, dim: list[int]) -> Tensor:
    """In the pattern of `self`: each entry gets the gradient of the sum that it went into. `grad`
    is dense where all sparse dimensions were summed."""
    indices, values, sizes = ordered(self)
    summed = {d % self.dim() for d in dim}
    sparse = [d for d in range(len(sizes)) if d not in summed]
    if sparse:
        at = torch.stack([indices[d] for d in sparse])
        found, given, kept = ordered(grad)
        given = lookup(found, given, at, kept)
    else:
        given = grad.unsqueeze(0)
    for d in range(len(sizes), self.dim()):
        if d in summed:
            given = given.unsqueeze(d - len(sizes) + 1)
    given = given.expand(values.shape).clone()
    return coo.made(indices, given, self.shape, coalesced=True)
