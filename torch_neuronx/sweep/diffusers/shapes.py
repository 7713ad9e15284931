"""Arguments that several of Diffusers' models want: each takes the model, or makes what does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch_neuronx.sweep.diffusers.rules import BATCH, FRAMES, SIDE, TOKENS

STEPS = torch.tensor([3.0, 7.0])  # of the denoising, where a model does no arithmetic with integers
TIMES = torch.tensor([0.3, 0.7])  # where a model counts from 0 to 1
PADDED = torch.arange(TOKENS) < torch.tensor([[TOKENS], [TOKENS - 3]])  # which tokens are real


def integers(high: int, *shape: int) -> Callable[[Any], torch.Tensor]:
    """Below `high`, of this shape for each sample."""
    return lambda model: torch.randint(0, high, (BATCH, *shape))


def packed(model: Any) -> torch.Tensor:
    """An image that is cut into patches already: (batch, patches, channels)."""
    return torch.randn(BATCH, SIDE * SIDE, model.config.in_channels)


def frames_first(model: Any) -> torch.Tensor:
    """A video: (batch, frames, channels, height, width)."""
    return torch.randn(BATCH, FRAMES, model.config.in_channels, SIDE, SIDE)


def positions(*sizes: int) -> torch.Tensor:
    """The coordinates in a grid of these sizes: (points, axes), floating point."""
    return torch.cartesian_prod(*(torch.arange(float(size)) for size in sizes))
