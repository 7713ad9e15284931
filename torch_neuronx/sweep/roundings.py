"""The CPU with its roundings moved: what another order of adding may do to a model's results, and
another order of equal elements."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

aten = torch.ops.aten
ROUNDINGS = 4

# Which argument's dimensions are summed over: the rows of a matrix, or an output channel's weights.
_ROWS = {aten.mm.default: 0, aten.bmm.default: 0, aten.addmm.default: 1, aten.baddbmm.default: 1}
_CHANNELS = {aten.convolution.default: 1}


class MovedRoundings(TorchDispatchMode):
    """Within it, inexact numbers that an op returns are up to ROUNDINGS nearer to zero, at random;
    those of products of n terms are moved by as much as another order of adding n numbers moves
    them. Whole numbers stay, for models compare with them. Of equal elements topk takes any."""

    def __init__(self, seed: int):
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is aten.topk.default:
            return tree_map(self._moved, self._topk(*args, **(kwargs or {})))
        result = func(*args, **(kwargs or {}))
        if func in _ROWS:
            return self._added(result, args[_ROWS[func]].shape[-1])
        if func in _CHANNELS:
            return self._added(result, args[_CHANNELS[func]][0].numel())
        aliases = any(returned.alias_info is not None for returned in func._schema.returns)
        return result if aliases else tree_map(self._moved, result)

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        steps = torch.randint(0, ROUNDINGS + 1, value.shape, generator=self._generator)
        nearer = value * (1 - steps * torch.finfo(value.dtype).eps).to(value.dtype)
        return torch.where(value != value.round(), nearer, value)

    def _added(self, value: torch.Tensor, terms: int) -> torch.Tensor:
        """Sums of so many terms: their partial sums, of about the sums' own size, are each rounded,
        and as often up as down."""
        if not value.is_floating_point() or not value.numel():
            return value
        size = value.square().mean().sqrt() * torch.finfo(value.dtype).eps * math.sqrt(terms)
        noise = torch.randn(value.shape, generator=self._generator).to(value.dtype)
        return torch.where(value != value.round(), value + noise * size, value)

    def _topk(self, x: torch.Tensor, k: int, dim: int = -1, *rest: Any, **options: Any) -> Any:
        """Of the elements in a random order."""
        if not x.dim():
            return torch.topk(x, k, dim, *rest, **options)
        order = torch.randperm(x.shape[dim], generator=self._generator)
        values, indices = torch.topk(x.index_select(dim, order), k, dim, *rest, **options)
        return values, order[indices]
