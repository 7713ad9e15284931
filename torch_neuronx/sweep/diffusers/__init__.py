"""Diffusers' models: every ModelMixin that it exports, reduced by the names of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep import libraries
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.diffusers import (
    audio_autoencoders,
    audio_transformers,
    autoencoders,
    controlnets,
    transformers,
    unets,
    video_autoencoders,
    video_transformers,
)
from torch_neuronx.sweep.diffusers.rules import ARGUMENTS, rule
from torch_neuronx.sweep.transformers_models import randomized

_KINDS: tuple[Any, ...] = (
    autoencoders,
    video_autoencoders,
    audio_autoencoders,
    unets,
    controlnets,
    transformers,
    video_transformers,
    audio_transformers,
)


def _merged(table: str) -> dict[str, Any]:
    """A table of all kinds of models, by class."""
    return {name: row for kind in _KINDS for name, row in getattr(kind, table, {}).items()}


FIELDS = _merged("FIELDS")
INPUTS = _merged("INPUTS")
PREPARED: dict[str, Callable[[nn.Module], None]] = _merged("PREPARED")
REFUSED: dict[str, str] = _merged("REFUSED")


def architectures() -> list[Architecture]:
    """One for each model class that Diffusers exports."""
    diffusers = libraries.load("diffusers")
    found = []
    for name in sorted(dir(diffusers.models)):
        model = getattr(diffusers.models, name, None)
        # Those named Multi hold several of another class, which they do not make.
        is_model = inspect.isclass(model) and issubclass(model, diffusers.ModelMixin)
        if is_model and model is not diffusers.ModelMixin and "Multi" not in name:
            family = model.__module__.split(".")[2]
            found.append(Architecture("diffusers", family, name, (), 5))
    return found


def build(architecture: Architecture) -> tuple[nn.Module, dict[str, Any]]:
    """The model, in evaluation mode unless PREPARED says else, and the arguments of its forward.

    NotImplementedError with the reason for one that does not run by itself: where its forward does
    nothing, it would pass."""
    if architecture.model in REFUSED:
        raise NotImplementedError(f"{architecture.model}: {REFUSED[architecture.model]}")
    model_class = getattr(libraries.load("diffusers").models, architecture.model)
    model = _constructed(model_class).eval()
    if architecture.model in PREPARED:
        PREPARED[architecture.model](model)
    return randomized(model), _arguments(model)


def _constructed(model_class: type) -> nn.Module:
    """What the constructor leaves to loaded weights becomes noise, and a gate that it closes."""
    before = torch.get_deterministic_debug_mode()
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills what is left open with NaN
    try:
        model = model_class(**_configuration(model_class))
    finally:
        torch.set_deterministic_debug_mode(before)
    with torch.no_grad():
        for parameter in model.parameters():
            closed = parameter.numel() == 1 and not bool(parameter)
            if closed or bool(parameter.isnan().any()):
                parameter.normal_(std=0.1)
    return model


def _configuration(model_class: type) -> dict[str, Any]:
    changed = {}
    for name, parameter in inspect.signature(model_class).parameters.items():
        if parameter.default is not parameter.empty:
            value = rule(name, parameter.default)
            if value != parameter.default:
                changed[name] = value
    return {**changed, **FIELDS.get(model_class.__name__, {})}


def _arguments(model: nn.Module) -> dict[str, Any]:
    made = {}
    for name, parameter in inspect.signature(model.forward).parameters.items():
        if name in ARGUMENTS and parameter.default in (parameter.empty, None):
            made[name] = ARGUMENTS[name](model)
    for name, value in INPUTS.get(type(model).__name__, {}).items():
        made[name] = value(model) if callable(value) else value
    return {name: value for name, value in made.items() if value is not None}
