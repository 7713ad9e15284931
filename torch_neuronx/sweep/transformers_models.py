"""Builds a Transformers model from a reduced configuration, and its batch."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep import inputs, libraries, reduction, rules
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.overrides import TRAINED

_MOST_PARAMETERS = 100_000_000
_SCALE = 0.1  # of what a model initialises to one number, so that no part of it is without effect


def build(architecture: Architecture) -> tuple[nn.Module, dict[str, Any]]:
    """The model, in float32 and as a rule in evaluation mode, and its forward's arguments.

    The first that runs of ever less reduced models, each with its main input and with all that it
    may take. Where none runs, what the smallest one raised is raised.
    """
    if getattr(libraries.load("transformers"), architecture.model).forward is nn.Module.forward:
        raise NotImplementedError(f"{architecture.model} has no forward")
    failure: Exception | None = None
    for level in range(rules.LEVELS):
        try:
            model = _model(architecture, level)
        except ImportError:
            raise
        except Exception as error:  # the library's own words for a size that does not fit
            failure = failure or error
            continue
        for more in (False, True):
            try:
                made = inputs.batch(model, architecture.tasks, more)
                with torch.no_grad():
                    model(**made)
            except Exception as error:
                failure = failure or error
            else:
                # Made again, for what has run may hold what it computed, on the CPU and without
                # gradients.
                return _model(architecture, level), made
    assert failure is not None
    raise failure


def _model(architecture: Architecture, level: int) -> nn.Module:
    transformers = libraries.load("transformers")
    model_class = getattr(transformers, architecture.model)
    config_class = model_class.config_class or transformers.CONFIG_MAPPING[architecture.family]
    config = reduction.configuration(config_class, level)
    if "MASKED_LM" in architecture.tasks and not architecture.generates_text:
        config.is_decoder = False
    if architecture.model.endswith("EncoderModel"):
        config.is_encoder_decoder = False
    if level and (size := _parameters(model_class, config)) > _MOST_PARAMETERS:
        raise ValueError(f"{architecture.model} has {size:,} parameters where it can be built")
    if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 0
    torch.manual_seed(0)
    model = randomized(model_class(config).float())
    generation = getattr(model, "generation_config", None)
    if generation is not None and getattr(generation, "decoder_start_token_id", 0) is None:
        generation.decoder_start_token_id = 0
    return model.train(architecture.family in TRAINED)


def _parameters(model_class: Any, config: Any) -> int:
    """How many the model would have; 0 where it cannot be built without making them."""
    try:
        with torch.device("meta"):
            return sum(p.numel() for p in model_class(copy.deepcopy(config)).parameters())
    except Exception:
        return 0


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
