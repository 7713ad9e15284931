"""Random arguments for a Transformers model's forward, from its signature and configuration."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep.overrides import ALSO, INPUTS
from torch_neuronx.sweep.reduction import SPECIAL
from torch_neuronx.sweep.rules import IMAGE, MELS, VOCABULARY

BATCH = 2
LENGTH = 8  # of sequences, in tokens
SAMPLES = 2000  # of sound
FRAMES = 64  # of a spectrogram


def batch(model: nn.Module, tasks: tuple[str, ...]) -> dict[str, Any]:
    """Arguments by name: the model's main input, what its forward requires, masks and labels."""
    parameters = inspect.signature(model.forward).parameters
    wanted = [name for name, parameter in parameters.items() if _is_required(parameter)]
    kind = model.config.model_type
    main = getattr(model, "main_input_name", "input_ids")
    for name in (main, "attention_mask", "decoder_input_ids", "bbox", *ALSO.get(kind, ())):
        if name in parameters and name not in wanted:
            wanted.append(name)
    made = {name: value for name in wanted if (value := argument(name, model)) is not None}
    if "input_ids" not in made:
        made.pop("attention_mask", None)
    if "labels" in parameters and (labels := _labels(model, tasks)) is not None:
        made["labels"] = labels
        made.pop("decoder_input_ids", None)
    for name, value in INPUTS.get(kind, {}).items():
        made[name] = value(model) if callable(value) else value
    return {name: value for name, value in made.items() if value is not None}


def _is_required(parameter: inspect.Parameter) -> bool:
    named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    return named and parameter.default is parameter.empty


def argument(name: str, model: nn.Module) -> Any:
    """A value for an argument of this name; None where there is none."""
    if name in ("input_ids", "decoder_input_ids"):
        return tokens(model)
    if name == "attention_mask":
        mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
        mask[1, -2:] = 0
        return mask
    if name == "position_ids":
        return torch.arange(LENGTH).expand(BATCH, LENGTH)
    if name == "bbox":
        corners = torch.randint(0, 500, (BATCH, LENGTH, 2))
        return torch.cat([corners, corners + 100], -1)
    if name == "pixel_values":
        return image(model)
    if name == "input_values":
        return torch.randn(BATCH, SAMPLES)
    if name == "input_features":
        return torch.randn(BATCH, FRAMES, field(model, "num_mel_bins", MELS))
    return None


def tokens(model: nn.Module, length: int = LENGTH) -> torch.Tensor:
    """Ordinary tokens, none of which means something to a configuration."""
    size = field(model, "vocab_size", VOCABULARY)
    return torch.randint(min(SPECIAL, size - 1), size, (BATCH, length))


def image(model: nn.Module) -> torch.Tensor:
    size = field(model, "image_size", IMAGE)
    height, width = (size, size) if isinstance(size, int) else size[-2:]
    channels = field(model, "num_channels", 3)
    return torch.randn(BATCH, channels, height, width)


def field(model: nn.Module, name: str, default: Any) -> Any:
    """The first value of a field in the configuration or those nested in it."""
    pending = [model.config]
    while pending:
        config = pending.pop(0)
        value = getattr(config, name, None)
        if value is not None:
            return value
        nested = getattr(config, "sub_configs_defaults", None) or {}
        pending += [getattr(config, key) for key in nested if getattr(config, key, None)]
    return default


# The labels of each task, by the shape that its loss wants.
_CLASS = {"SEQUENCE_CLASSIFICATION", "IMAGE_CLASSIFICATION", "AUDIO_CLASSIFICATION",
          "VIDEO_CLASSIFICATION", "MULTIPLE_CHOICE", "NEXT_SENTENCE_PREDICTION"}  # fmt: skip
_TOKENS = {"CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "TOKEN_CLASSIFICATION",
           "IMAGE_TEXT_TO_TEXT", "MULTIMODAL_LM", "SPEECH_SEQ_2_SEQ"}  # fmt: skip


def _labels(model: nn.Module, tasks: tuple[str, ...]) -> torch.Tensor | None:
    if _CLASS.intersection(tasks):
        return torch.arange(BATCH) % 2
    if "TOKEN_CLASSIFICATION" in tasks:
        return torch.randint(0, 2, (BATCH, LENGTH))
    if _TOKENS.intersection(tasks):
        return tokens(model)
    return None
