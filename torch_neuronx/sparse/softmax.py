"""softmax and log_softmax of COO tensors: an entry that is absent counts as minus infinity.

Along a dense dimension they are those of the values; along a sparse one they are taken among the
entries that differ in that dimension alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torch_neuronx.layouts import computes
from torch_neuronx.sparse import coo
from torch_neuronx.sparse.coalescing import ordered
from torch_neuronx.sparse.value_programs import grouped_softmax, grouped_softmax_backward, lookup

aten = torch.ops.aten


@computes("sparse_coo", aten._sparse_softmax.default)
def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return _forward(self, dim, half_to_float, log=False)


@computes("sparse_coo", aten._sparse_log_softmax.default)
def log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return _forward(self, dim, half_to_float, log=True)


@computes("sparse_coo", aten._sparse_softmax_backward_data.default)
def softmax_backward(grad: Tensor, output: Tensor, dim: int, self: Tensor) -> Tensor:
    return _backward(grad, output, dim, log=False)


@computes("sparse_coo", aten._sparse_log_softmax_backward_data.default)
def log_softmax_backward(grad: Tensor, output: Tensor, dim: int, self: Tensor) -> Tensor:
    return _backward(grad, output, dim, log=True)


def _forward(self: Tensor, dim: int, half_to_float: bool, *, log: bool) -> Tensor:
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on neuron")
    dim = _wrapped(self, dim)
    if not self.is_floating_point():
        name = "log_softmax" if log else "softmax"
        raise NotImplementedError(f'"{name}" not implemented for {coo.name_of(self.dtype)!r}')
    indices, values, sizes = ordered(self)
    if not values.numel():
        pass
    elif dim < len(sizes):
        values = grouped_softmax(*_without(indices, sizes, dim, values), log)
    else:
        function = torch.log_softmax if log else torch.softmax
        values = function(values, dim - len(sizes) + 1)
    return coo.made(indices, values, self.shape, coalesced=True)


def _backward(grad: Tensor, output: Tensor, dim: int, *, log: bool) -> Tensor:
    dim = _wrapped(output, dim)
    indices, result, sizes = ordered(output)
    found, given, _ = ordered(grad)
    given = lookup(found, given, indices, sizes)
    if not given.numel():
        pass
    elif dim < len(sizes):
        groups, given, kept = _without(indices, sizes, dim, given)
        given = grouped_softmax_backward(groups, given, result, kept, log)
    else:
        function = aten._log_softmax_backward_data if log else aten._softmax_backward_data
        given = function(given, result, dim - len(sizes) + 1, result.dtype)
    return coo.made(indices, given, output.shape, coalesced=True)


def _without(indices: Tensor, sizes: list[int], dim: int, values: Tensor):
    """What tells groups apart: all sparse dimensions but `dim`."""
    others = [d for d in range(len(sizes)) if d != dim]
    rows = [indices[d] for d in others]
    kept = torch.stack(rows) if rows else indices[:0]
    return kept, values, [sizes[d] for d in others]


def _wrapped(x: Tensor, dim: int) -> int:
    if not -x.dim() <= dim < x.dim():
        raise IndexError(
            "Dimension out of range (expected to be in range of"
            f" [{-x.dim()}, {x.dim() - 1}], but got {dim})"
        )
    return dim % x.dim()
