"""Greedy generation of a few tokens, with whatever cache the model uses by default."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.overrides import GENERATION, NOT_GREEDY
from torch_neuronx.sweep.subject import Subject

NEW_TOKENS = 4
_TASKS = {"CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SPEECH_SEQ_2_SEQ"}


def applies(architecture: Architecture, model: nn.Module) -> bool:
    if architecture.family in NOT_GREEDY:
        return False
    can = getattr(model, "can_generate", None)
    return bool(_TASKS.intersection(architecture.tasks)) and can is not None and can()


def tokens(subject: Subject) -> torch.Tensor:
    """What the model continues its inputs with, NEW_TOKENS for each row."""
    left_out = ("labels", "decoder_input_ids", "attention_mask")
    given = {name: value for name, value in subject.inputs.items() if name not in left_out}
    model: Any = subject.model
    given.update(max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, pad_token_id=0)
    torch.manual_seed(0)
    for name, value in GENERATION.get(model.config.model_type, {}).items():
        given[name] = value(model) if callable(value) else value
    given = {name: _on(value, model.device) for name, value in given.items() if value is not None}
    model.eval()  # see overrides.TRAINED
    torch.manual_seed(0)
    returned = model.generate(**given, do_sample=False, num_beams=1)
    return getattr(returned, "sequences", returned)


def _on(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value
