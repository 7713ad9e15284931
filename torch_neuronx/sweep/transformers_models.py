"""Builds a Transformers model from a reduced configuration, and its batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep import inputs, libraries, reduction
from torch_neuronx.sweep.catalog import Architecture

_SCALE = 0.1  # of what a model initialises to one number, so that no part of it is without effect


def build(architecture: Architecture) -> tuple[nn.Module, dict[str, Any]]:
    """The model, in float32 and evaluation mode, and the arguments of its forward, on the CPU."""
    transformers = libraries.load("transformers")
    model_class = getattr(transformers, architecture.model)
    config_class = model_class.config_class or transformers.CONFIG_MAPPING[architecture.family]
    config = reduction.configuration(config_class)
    model = randomized(model_class(config).float().eval())
    return model, inputs.batch(model, architecture.tasks)


def randomized(model: nn.Module) -> nn.Module:
    """`model`, with noise added to parameters that are one number throughout.

    A layer whose scale starts at 0 or 1e-6 would not be seen in what the model returns.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and parameter.numel() > 1:
                first = parameter.flatten()[0]
                if bool((parameter == first).all()):
                    parameter.add_(torch.randn_like(parameter), alpha=_SCALE)
    return model
