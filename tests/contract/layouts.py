"""The modes that lay a sample's inputs out otherwise: in memory, or as lanes of vmap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils._pytree import tree_map

from .calls import NotApplicable, compare, inputs
from .comparison import tensors
from .databases import Operator, Sample
from .gradients import backward
from .modes import forward

CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def noncontiguous(operator: Operator, sample: Sample) -> None:
    """With NaN between the elements, so that a read beside them shows."""
    _both_ways(operator, _laid_out(sample, noncontiguous_like))


def channels_last(operator: Operator, sample: Sample) -> None:
    given = [t for t in tensors(inputs(sample)) if not is_lazy(t)]
    if not any(t.dim() in CHANNELS_LAST for t in given):
        raise NotApplicable
    _both_ways(operator, _laid_out(sample, _channels_last))


def vmap(operator: Operator, sample: Sample) -> None:
    """Two lanes of every tensor."""
    lanes = _laid_out(sample, lambda t: torch.stack([t.detach()] * 2))
    in_dims = tree_map(lambda v: 0 if isinstance(v, torch.Tensor) else None, lanes.args)
    run = torch.func.vmap(operator.function, in_dims, randomness="different")
    compare(operator, replace(lanes, lanes=1), run, run)


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() not in CHANNELS_LAST:
        return tensor
    laid_out = tensor.detach().contiguous(memory_format=CHANNELS_LAST[tensor.dim()])
    return laid_out.requires_grad_(tensor.requires_grad)


def _laid_out(sample: Sample, move: Callable[[torch.Tensor], torch.Tensor]) -> Sample:
    def moved(value: Any) -> Any:
        is_strided = isinstance(value, torch.Tensor) and value.layout is torch.strided
        return move(value) if is_strided else value

    args, kwargs = tree_map(moved, inputs(sample))
    return replace(sample, args=args, kwargs=kwargs)


def _both_ways(operator: Operator, sample: Sample) -> None:
    """Backward too if anything requires a gradient: is_meant does not ask for that."""
    forward(operator, sample)
    try:
        backward(operator, sample)
    except NotApplicable:
        return
