"""Diffusers' models: every ModelMixin that it exports, reduced by the names of its arguments."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep import libraries
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.diffusers_data import ARGUMENTS, FIELDS, rule
from torch_neuronx.sweep.transformers_models import randomized


def architectures() -> list[Architecture]:
    """One for each model class that Diffusers exports."""
    diffusers = libraries.load("diffusers")
    found = []
    for name in sorted(dir(diffusers)):
        if not name.endswith(
            ("Model", "Model2D", "Model3D", "VAE", "Decoder", "Prior")
        ) and not any(
            part in name for part in ("Transformer", "UNet", "Autoencoder", "ControlNet", "VQ")
        ):
            continue
        model = getattr(diffusers, name)
        if not inspect.isclass(model) or not issubclass(model, diffusers.ModelMixin):
            continue
        if model is diffusers.ModelMixin or name.startswith("Multi"):
            continue
        family = model.__module__.split(".")[2]
        found.append(Architecture("diffusers", family, name, (), 5))
    return found


def build(architecture: Architecture) -> tuple[nn.Module, dict[str, Any]]:
    """The model, in evaluation mode, and the arguments of its forward."""
    model_class = getattr(libraries.load("diffusers"), architecture.model)
    model = randomized(model_class(**_configuration(model_class)).eval())
    return model, _arguments(model)


def _configuration(model_class: type) -> dict[str, Any]:
    changed = {}
    for name, parameter in inspect.signature(model_class.__init__).parameters.items():
        if parameter.default is not parameter.empty:
            value = rule(name, parameter.default)
            if value != parameter.default:
                changed[name] = value
    return {**changed, **FIELDS.get(model_class.__name__, {})}


def _arguments(model: nn.Module) -> dict[str, Any]:
    config: Any = model.config
    made = {}
    for name, parameter in inspect.signature(model.forward).parameters.items():
        known = ARGUMENTS.get(name)
        if known is not None and (value := known(config)) is not None:
            if parameter.default in (parameter.empty, None):
                made[name] = value
    made.pop("return_dict", None)
    return made
