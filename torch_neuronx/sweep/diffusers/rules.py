"""How Diffusers' models are reduced and called by the names of arguments, as data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from torch_neuronx.sweep.rules import at_most

BATCH = 2
SIDE = 8  # of latent images
FRAMES = 2
TOKENS = 8  # of a prompt
WIDTH = 16

_RULES: list[tuple[str, Callable[[int], int]]] = [
    (r".*dropout.*", lambda _: 0),
    (r"(.*_)?(num_)?(\w+_)?layers(_per_block)?|depth|.*_layers", at_most(1)),
    (r"(.*_)?num_attention_heads|num_heads|n_heads|n_kv_heads|num_kv_heads|num_key_value_heads",
     at_most(2)),
    (r"attention_head_dim|head_dim", at_most(8)),
    (r"block_out_channels|.*_out_channels|decoder_block_out_channels|encoder_block_out_channels",
     at_most(WIDTH)),
    (r"(norm_)?num_groups", at_most(4)),
    (r"(cross|joint)_attention_dim|caption_channels|text_embed_dim|text_dim|cap_feat_dim",
     at_most(WIDTH)),
    (r"pooled_projection_dim|caption_projection_dim|embedding_dim|hidden_size|dim|inner_dim",
     at_most(WIDTH)),
    (r"sample_size", at_most(SIDE)),
    (r"sample_(height|width)", at_most(SIDE)),
    (r"sample_frames|num_frames", at_most(FRAMES)),
    (r"ffn_dim|intermediate_size|ff_inner_dim", at_most(2 * WIDTH)),
    (r"num_vq_embeddings|num_embeds_ada_norm|num_vector_embeds|vocab_size", at_most(32)),
]  # fmt: skip


# How the 8 numbers of a head are shared among 2, 3 or 4 axes of rotary embeddings.
_AXES = {2: (4, 4), 3: (4, 2, 2), 4: (2, 2, 2, 2)}
_AXES_NAMES = re.compile(r"(rope_)?axes_dims?(_rope)?|rope_dim(_list)?|axes_dim_rope")


def rule(name: str, default: Any) -> Any:
    """The reduced default of a constructor's argument of this name."""
    if _AXES_NAMES.fullmatch(name) and isinstance(default, (list, tuple)):
        return type(default)(_AXES[len(default)])
    for pattern, change in _RULES:
        if re.fullmatch(pattern, name):
            return _applied(change, default)
    return default


def _applied(change: Callable[[int], int], default: Any) -> Any:
    if isinstance(default, (list, tuple)):
        return type(default)(_applied(change, item) for item in default)
    if isinstance(default, bool) or not isinstance(default, (int, float)) or default == 0:
        return default
    return type(default)(change(int(default)))


def _field(config: Any, *names: str, default: int = WIDTH) -> int:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int) and value:
            return value
    return default


def _latents(model: Any) -> torch.Tensor:
    config, kind = model.config, type(model).__name__
    channels = _field(config, "in_channels", "latent_channels", default=4)
    if (
        "Flux" in kind
        or "Chroma" in kind
        or "Qwen" in kind
        or "Ovis" in kind
        or "LongCatImage" in kind
    ):
        return torch.randn(BATCH, SIDE * SIDE, channels)  # already cut into patches
    if "LTX" in kind:
        return torch.randn(BATCH, FRAMES * SIDE * SIDE, channels)
    if "1D" in kind or "Audio" in kind:
        return torch.randn(BATCH, channels, 4 * SIDE)
    if "3D" in kind or "Video" in kind or "Motion" in kind or "I2VGen" in kind:
        frames = 2 * FRAMES + 1 if "Autoencoder" in kind else FRAMES
        shape = (BATCH, channels, frames, SIDE, SIDE)
        swapped = "CogVideoXTransformer" in kind or "SpatioTemporal" in kind
        return torch.randn(shape).transpose(1, 2).contiguous() if swapped else torch.randn(shape)
    if "Autoencoder" in kind or "VQ" in kind:
        return torch.randn(BATCH, channels, 4 * SIDE, 4 * SIDE)
    return torch.randn(BATCH, channels, SIDE, SIDE)


_PROMPT_WIDTHS = (
    "cross_attention_dim",
    "joint_attention_dim",
    "caption_channels",
    "text_embed_dim",
    "text_dim",
    "cap_feat_dim",
    "encoder_hid_dim",
)


def _prompt(model: Any) -> torch.Tensor:
    return torch.randn(BATCH, TOKENS, _field(model.config, *_PROMPT_WIDTHS))


# What an argument of this name is; None where the configuration has no use for it.
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "sample": _latents,
    "hidden_states": _latents,
    "x": lambda model: torch.randn(BATCH, _field(model.config, "in_channels", default=3), 64, 64),
    "timestep": lambda model: torch.tensor([3, 7]),
    "encoder_hidden_states": _prompt,
    "encoder_attention_mask": lambda model: torch.ones(BATCH, TOKENS, dtype=torch.int64),
    "encoder_hidden_states_mask": lambda model: torch.ones(BATCH, TOKENS, dtype=torch.bool),
    "pooled_projections": lambda model: torch.randn(
        BATCH, _field(model.config, "pooled_projection_dim")
    ),
    "img_ids": lambda model: torch.cartesian_prod(
        torch.zeros(1), torch.arange(SIDE).float(), torch.arange(SIDE).float()
    ),
    "txt_ids": lambda model: torch.zeros(TOKENS, 3),
    "img_shapes": lambda model: [[(1, SIDE, SIDE)]] * BATCH,
    "guidance": lambda model: (
        torch.tensor([1.0, 2.0]) if getattr(model.config, "guidance_embeds", False) else None
    ),
    "controlnet_cond": lambda model: torch.randn(
        BATCH, _field(model.config, "conditioning_channels", default=3), 8 * SIDE, 8 * SIDE
    ),
    "class_labels": lambda model: (
        torch.tensor([1, 2]) if getattr(model.config, "num_embeds_ada_norm", None) else None
    ),
    "original_size": lambda model: torch.tensor([[32.0, 32.0]] * BATCH),
    "target_size": lambda model: torch.tensor([[32.0, 32.0]] * BATCH),
    "crop_coords": lambda model: torch.zeros(BATCH, 2),
    "proj_embedding": lambda model: torch.randn(BATCH, _field(model.config, "embedding_dim")),
}
