"""What several of Diffusers' models want: arguments, each of which takes the model or makes what
does; and what is done to a model before it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep.diffusers.rules import BATCH, FRAMES, SIDE, TOKENS, WIDTH

STEPS = torch.tensor([3.0, 7.0])  # of the denoising, where a model does no arithmetic with integers
TIMES = torch.tensor([0.3, 0.7])  # where a model counts from 0 to 1
PADDED = torch.arange(TOKENS) < torch.tensor([[TOKENS], [TOKENS - 3]])  # which tokens are real


def random(*shape: int) -> Callable[[Any], torch.Tensor]:
    """Normal numbers of this shape for each sample."""
    return lambda model: torch.randn(BATCH, *shape)


def prompt_of_frames(model: Any) -> torch.Tensor:
    """A prompt for each frame of a batch of videos."""
    return torch.randn(BATCH * FRAMES, TOKENS, WIDTH)


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


def frozen(model: nn.Module) -> None:
    """Without gradients: on the CPU FlexAttention, which some insist on, refuses them."""
    model.requires_grad_(False)
