"""The CPU with its roundings moved: what one more rounding per op may do to a model's results,
and another order of equal elements."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map


class MovedRoundings(TorchDispatchMode):
    """Within it, inexact numbers that an op returns are a rounding nearer to zero, or are not, at
    random. Whole numbers stay, for models compare with them. Of equal elements, topk takes the
    last ones, and not those that come first."""

    def __init__(self, seed: int):
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.topk.default:
            return tree_map(self._moved, _topk_of_reversed(*args, **(kwargs or {})))
        result = func(*args, **(kwargs or {}))
        aliases = any(returned.alias_info is not None for returned in func._schema.returns)
        return result if aliases else tree_map(self._moved, result)

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        down = torch.randint(0, 2, value.shape, generator=self._generator).bool()
        nearer = value * (1 - torch.finfo(value.dtype).eps)
        return torch.where(down & (value != value.round()), nearer, value)


def _topk_of_reversed(x: torch.Tensor, k: int, dim: int = -1, *rest: Any, **options: Any) -> Any:
    if not x.dim():
        return torch.topk(x, k, dim, *rest, **options)
    values, indices = torch.topk(x.flip(dim), k, dim, *rest, **options)
    return values, x.shape[dim] - 1 - indices
