"""Random arguments for a Transformers model's forward, from its signature and configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
GRID = 4  # patches of an image, each way


def batch(model: nn.Module, tasks: tuple[str, ...], more: bool = False) -> dict[str, Any]:
    """Arguments by name: the model's main input, what its forward requires, masks and labels.

    `more`: also the other inputs that it may take, and those in their other shape (sound with a
    channel, images as the frames of a video).
    """
    parameters = inspect.signature(model.forward).parameters
    wanted = [name for name, parameter in parameters.items() if _is_required(parameter)]
    config: Any = model.config
    kind: str = config.model_type
    main = getattr(model, "main_input_name", "input_ids")
    names = [main] if isinstance(main, str) else list(main)
    names += ["attention_mask", "decoder_input_ids", "bbox", *ALSO.get(kind, ())]
    if _has_grid(model):
        names += _GRIDS
    if _OF_TEXT_AND_IMAGES.intersection(tasks):
        names.append("input_ids")
    if _has_towers(config) or more:
        names.append("pixel_values")
    if more:
        names += _OPTIONAL
    wanted += [name for name in names if name in parameters and name not in wanted]
    made = {name: argument(name, model, more) for name in wanted}
    if made.get("input_ids") is None:
        made.pop("attention_mask", None)
    if "MULTIPLE_CHOICE" in tasks:
        made = _choices(made)
    if "labels" in parameters and (labels := _labels(model, tasks, made)) is not None:
        made["labels"] = labels
        made.pop("decoder_input_ids", None)
    if "start_positions" in parameters:
        made["start_positions"], made["end_positions"] = torch.arange(2), 2 + torch.arange(2)
    if config.is_encoder_decoder and "SEQUENCE_CLASSIFICATION" in tasks and "input_ids" in made:
        made["input_ids"][:, -1] = config.eos_token_id  # whose state is classified
    known = {**INPUTS.get(kind, {}), **INPUTS.get(type(model).__name__, {})}
    for name, value in known.items():
        made[name] = value(model) if callable(value) else value
    return {name: value for name, value in made.items() if value is not None}


_OF_TEXT_AND_IMAGES = {"IMAGE_TEXT_TO_TEXT", "MULTIMODAL_LM", "VISUAL_QUESTION_ANSWERING"}
_GRIDS = ("grid_thw", "image_grid_thw")
_OPTIONAL = ("input_values", "input_features", "input_features_mask", "grid_thw", "query_embeds")


def _has_towers(config: Any) -> bool:
    """Whether text and images are encoded beside each other, and not one within the other."""
    within = any(hasattr(config, f"image_token_{end}") for end in ("id", "index"))
    return hasattr(config, "text_config") and hasattr(config, "vision_config") and not within


def _has_grid(model: nn.Module) -> bool:
    """Whether images are a sequence of patches, of any number and shape of images: not so where
    they stand within a text."""
    parameters = inspect.signature(model.forward).parameters
    return "input_ids" not in parameters and any(name in parameters for name in _GRIDS)


def _is_required(parameter: inspect.Parameter) -> bool:
    named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    return named and parameter.default is parameter.empty


def argument(name: str, model: nn.Module, more: bool = False) -> Any:
    """A value for an argument of this name; None where there is none."""
    maker = _MAKERS.get(name)
    return None if maker is None else maker(model, more)


def _mask(model: nn.Module, more: bool) -> torch.Tensor:
    mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    mask[1, -2:] = 0
    return mask


def _boxes(model: nn.Module, more: bool) -> torch.Tensor:
    corners = torch.randint(0, 500, (BATCH, LENGTH, 2))
    return torch.cat([corners, corners + 100], -1)


def _sound(model: nn.Module, more: bool) -> torch.Tensor:
    mels = field(model, "num_mel_bins", None)
    if mels is not None:
        return torch.randn(BATCH, field(model, "max_length", FRAMES), mels)
    channels = (field(model, "audio_channels", 1),) if more else ()
    return torch.randn(BATCH, *channels, SAMPLES)


_MELS = ("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel")


def _spectrogram(model: nn.Module, more: bool) -> torch.Tensor:
    """Time before or after frequency: models differ."""
    mels = next((size for name in _MELS if (size := field(model, name, None))), MELS)
    mels *= field(model, "num_stacked_frames", 1)
    frames = 2 * field(model, "max_source_positions", FRAMES // 2)
    return torch.randn(BATCH, mels, frames) if more else torch.randn(BATCH, FRAMES, mels)


def _patches(model: nn.Module, more: bool) -> torch.Tensor:
    """Patches of BATCH images of GRID by GRID, as vision towers with a grid take them: flat, or
    with `more` as they are in an image."""
    side = field(model, "patch_size", 8)
    frames = field(model, "temporal_patch_size", field(model, "patch_temporal", 1))
    channels = field(model, "in_channels", field(model, "num_channels", 3))
    shape = (channels, side, side) if more else (channels * frames * side * side,)
    return torch.randn(BATCH * GRID * GRID, *shape)


def _images(model: nn.Module, more: bool) -> torch.Tensor:
    return _patches(model, more) if _has_grid(model) else image(model, more)


def _video(model: nn.Module, more: bool) -> torch.Tensor:
    frames = field(model, "num_frames", 2)
    return torch.stack([image(model) for _ in range(frames)], 1)


def _grids(model: nn.Module, more: bool) -> torch.Tensor:
    return torch.tensor([[1, GRID, GRID]] * BATCH)


def _past(model: nn.Module, more: bool) -> torch.Tensor:
    """A time series: of channels, or of one value at each time, as long as its lags reach back."""
    steps, channels = field(model, "context_length", 16), field(model, "num_input_channels", None)
    if channels is not None:
        return torch.randn(BATCH, steps, channels)
    return torch.randn(BATCH, steps + max(field(model, "lags_sequence", [0])))


def _times(model: nn.Module, steps: int) -> torch.Tensor:
    return torch.randn(BATCH, steps, field(model, "num_time_features", 0))


_MAKERS: dict[str, Callable[[nn.Module, bool], Any]] = {
    "input_ids": lambda model, more: tokens(model),
    "decoder_input_ids": lambda model, more: tokens(model),
    "attention_mask": _mask,
    "position_ids": lambda model, more: torch.arange(LENGTH).expand(BATCH, LENGTH),
    "bbox": _boxes,
    "pixel_values": _images,
    "pixel_values_videos": _video,
    "qformer_input_ids": lambda model, more: tokens(model),
    "input_values": _sound,
    "past_values": _past,
    "past_time_features": lambda model, more: _times(model, _past(model, more).shape[1]),
    "past_observed_mask": lambda model, more: torch.ones_like(_past(model, more)),
    "future_values": lambda model, more: torch.randn(BATCH, field(model, "prediction_length", 1)),
    "future_time_features": lambda model, more: _times(model, field(model, "prediction_length", 1)),
    "input_features": _spectrogram,
    "input_features_mask": lambda model, more: torch.ones(BATCH, FRAMES, dtype=torch.int64),
    "hidden_states": _patches,
    "grid_thw": _grids,
    "image_grid_thw": _grids,
    "query_embeds": lambda model, more: torch.randn(BATCH, LENGTH, field(model, "hidden_size", 32)),
}


def tokens(model: nn.Module, length: int = LENGTH) -> torch.Tensor:
    """Ordinary tokens, none of which means something to a configuration."""
    size = field(model, "vocab_size", VOCABULARY)
    return torch.randint(min(SPECIAL, size - 1), size, (BATCH, length))


def image(model: nn.Module, more: bool = False) -> torch.Tensor:
    """Images, or with `more` videos where the configuration says how many frames they have."""
    size = field(model, "image_size", IMAGE)
    height, width = (size, size) if isinstance(size, int) else size[-2:]
    channels = field(model, "num_channels", 3)
    frames = field(model, "num_frames", None) if more else None
    return torch.randn(BATCH, *(() if frames is None else (frames,)), channels, height, width)


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
          "VIDEO_CLASSIFICATION", "MULTIPLE_CHOICE", "NEXT_SENTENCE_PREDICTION",
          "AUDIO_XVECTOR"}  # fmt: skip
_TOKENS = {"CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "TOKEN_CLASSIFICATION",
           "IMAGE_TEXT_TO_TEXT", "MULTIMODAL_LM", "SPEECH_SEQ_2_SEQ", "CTC"}  # fmt: skip
_PIXELS = {"SEMANTIC_SEGMENTATION"}


def _labels(model: nn.Module, tasks: tuple[str, ...], made: dict[str, Any]) -> Any:
    if _CLASS.intersection(tasks):
        return torch.arange(BATCH) % 2
    if "TOKEN_CLASSIFICATION" in tasks:
        return torch.randint(0, 2, (BATCH, LENGTH))
    if _TOKENS.intersection(tasks):
        return tokens(model)
    if _PIXELS.intersection(tasks) and "pixel_values" in made:
        return torch.randint(0, 2, (BATCH, *made["pixel_values"].shape[-2:]))
    if "OBJECT_DETECTION" in tasks:
        return [{"class_labels": torch.arange(2), "boxes": 0.3 + 0.4 * torch.rand(2, 4)}] * BATCH
    return None


def _choices(made: dict[str, Any]) -> dict[str, Any]:
    """Two texts for each row, to choose one of."""
    texts = ("input_ids", "attention_mask", "token_type_ids", "bbox")
    return {n: torch.stack([v, v.flip(0)], 1) if n in texts else v for n, v in made.items()}
