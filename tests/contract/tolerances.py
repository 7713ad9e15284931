"""How far two correct results may be apart: a function of dtypes and of how many terms were added.

A result is rounded to its dtype a few times, and on the way to it sums of up to `terms` terms are
accumulated, in float32 at least, in an order that PyTorch does not promise. Nothing here knows
which operator ran.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

ROUNDINGS = 16  # of an operator that is composed of others, each of which rounds
# What has fewer digits than bfloat16 is stored, and not computed in: its results round once.
STORED = torch.finfo(torch.bfloat16).eps


def tolerance(dtypes: Iterable[torch.dtype], terms: int) -> float:
    """The relative error, and below 1 the absolute one, of a result of `terms` terms.

    `dtypes` are those of the result and of the inputs: the coarsest one counts.
    """
    coarsest = max(map(_eps, dtypes), default=0.0)
    accumulator = min(coarsest, torch.finfo(torch.float32).eps)
    roundings = ROUNDINGS if coarsest <= STORED else 1
    return roundings * coarsest + terms * accumulator


def _eps(dtype: torch.dtype) -> float:
    is_rounded = dtype.is_floating_point or dtype.is_complex
    return torch.finfo(dtype).eps if is_rounded else 0.0
