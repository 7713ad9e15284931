"""How the fields of a configuration are reduced, as data: by name.

`reduction` applies the first rule whose pattern matches a field's whole name. A rule's value
replaces an integer, and each integer of a tuple or a list; a callable gets the default. The sizes
fit each other (heads x head width = width) and are few, so that models share programs.

Where a model's sizes depend on each other in ways that names do not tell, fewer rules apply: the
rules of a higher level are kept longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

WIDTH = 32  # of hidden states
HEADS = 4
HEAD_WIDTH = WIDTH // HEADS
INNER = 64  # of feed-forward layers
LAYERS = 2
VOCABULARY = 128
POSITIONS = 128
IMAGE = 32  # pixels, square
PATCH = 8
MELS = 16

KEEP = "keep"
Value = int | float | str | list[int] | Callable[[int], int]


def at_most(limit: int) -> Callable[[int], int]:
    return lambda default: min(default, limit)


def _heads(default: int) -> int:
    """A power of two, so that they divide the width of every stage."""
    return min(HEADS, 1 << (default.bit_length() - 1))


def _shrunk(default: int) -> int:
    """Channels of a stage: their ratios stay, and they remain multiples of 8."""
    return default if default <= 8 else max(8, default // 16 // 8 * 8)


_IMAGE_SIZES = r"(.*_)?(image_size|img_size|crop_size|input_size|max_image_size)"

_RULES: list[tuple[int, str, Value]] = [
    # What turns numbers random.
    (3, r".*(dropout|drop|pdrop|layerdrop|drop_path_rate|drop_rate|dropout_prob|dropout_p)", 0),
    (3, r".*(dropout_rate|jitter_noise|dropout_value|token_dropout)", 0),
    (3, r"(mask_time_prob|mask_feature_prob|noise_scale.*|residual_dropout)", 0),
    # Tokens are given by `reduction`.
    (3, r".*_token_(id|index|offset)|(image|video|audio)_token", KEEP),
    (3, r".*type_vocab_size", KEEP),
    (2, r"(.*_)?(vocab_size|n_vocab)(_.*)?|codebook_size|num_embeddings", VOCABULARY),
    # Positions.
    (3, r"max_2d_position_embeddings", KEEP),  # coordinates are up to 1000
    (2, r"(.*_)?max_(\d?d?_?)?(position_embeddings|positions?|seq_len)", at_most(POSITIONS)),
    (2, r"(.*_)?max_(seq_length|source_positions)|max_sequence_length", at_most(POSITIONS)),
    (2, r"n_positions|n_ctx|max_(target|speech|text)_positions|max_ep_len", at_most(POSITIONS)),
    # Depth.
    (2, r"(.*_)?(num_)?(hidden_)?layers|n_layers?", at_most(LAYERS)),
    (2, r"(.*_)?num_layers|(.*_)?num_\w+_layers", at_most(LAYERS)),
    (2, r"(.*_)?depths?|(.*_)?num_blocks|(.*_)?layers_per_stage", at_most(1)),
    (2, r"blocks_per_stage|num_block_repeats|num_res_blocks|num_residual_layers", at_most(1)),
    (2, r"(.*_)?num_hidden_groups|num_decode_blocks", at_most(1)),
    # Attention.
    (1, r"(.*_)?(num|n)_(key_value|kv)_(attention_)?heads", at_most(HEADS // 2)),
    (1, r"(.*_)?(num|n)?_?(attention_|attn_)?heads?", _heads),
    (1, r"(.*_)?head_(dim|size|width)", at_most(HEAD_WIDTH)),
    (1, r"d_kv|d_head|dim_head|kv_channels", at_most(HEAD_WIDTH)),
    (1, r"rotary_dim", at_most(HEAD_WIDTH // 2)),
    (1, r"(q|kv|o)_lora_rank", at_most(16)),
    (1, r"sliding_window|attention_window(_size)?|local_attention(_window_len)?", at_most(4)),
    (1, r"(mamba_|linear_)?chunk_size|block_size", at_most(8)),
    (1, r"(mamba_)?n_?groups", at_most(2)),
    (1, r"num_groups", at_most(8)),  # of a normalisation, which divide any stage's channels
    # Experts.
    (2, r"(.*_)?(num|n)_(\w*_)?experts?", at_most(4)),
    (2, r"(.*_)?(num_experts_per_tok(en)?|moe_topk|moe_k|top_k|topk)", at_most(2)),
    (2, r"n_group|topk_group|num_expert_group", at_most(1)),
    (2, r"first_k_dense_replace|num_dense_layers", at_most(1)),
    # Images.
    (1, _IMAGE_SIZES, at_most(IMAGE)),
    (3, _IMAGE_SIZES, at_most(2 * IMAGE)),
    (1, r"(.*_)?patch_size", at_most(PATCH)),
    (1, r"(.*_)?window_size", at_most(4)),
    (1, r"num_frames|frames_per_clip", at_most(4)),
    # Sound.
    (1, r"max_length", at_most(128)),
    (1, r"spec_size", at_most(64)),
    (1, r"num_filters", at_most(8)),
    (1, r"num_mel_bins|mel_dim|feature_size", at_most(MELS)),
    (1, r"tdnn_kernel", at_most(2)),
    (1, r"tdnn_dilation", at_most(1)),
    # Widths.
    (1, r"(.*_)?(intermediate_size|ffn_dim|ff_dim|ffn_hidden_size|mlp_dim)", at_most(INNER)),
    (1, r"d_ff|d_inner|dim_ff|dff", at_most(INNER)),
    (1, r"(.*_)?(hidden_size|hidden_dim(ension)?|d_model|n_embd|embed_dim)", at_most(WIDTH)),
    (1, r"(.*_)?(embedding_size|embedding_dim|dim)", at_most(WIDTH)),
    (1, r"upsample_groups|decoder_in_channels", at_most(WIDTH)),
    (1, r"base_channels|latent_channels", at_most(WIDTH)),  # normalised in 32 groups
    (1, r"num_filters", at_most(4)),
    (0, r"(.*_)?(hidden_sizes|embed_dims|channels|hidden_channels)", _shrunk),
    (1, r"(.*_)?(projection_dim|proj_dim|output_dim|pooler_output_size)", at_most(WIDTH)),
    (1, r"num_queries|num_latents", at_most(8)),
]

LEVELS = 4
RULES = [(level, re.compile(pattern), value) for level, pattern, value in _RULES]


def rule(name: str, level: int = 0) -> Value | None:
    """What a field of this name becomes; None where no rule of `level` or above speaks of it."""
    for of_level, pattern, value in RULES:
        if of_level >= level and pattern.fullmatch(name):
            return None if value == KEEP else value
    return None


def reduced(name: str, default: Any, level: int = 0) -> Any:
    """The reduced value of a field, of the type of its default."""
    if isinstance(default, dict):
        return {key: reduced(str(key), item, level) for key, item in default.items()}
    value = rule(name, level)
    return default if value is None else _applied(value, default)


def _applied(value: Value, default: Any) -> Any:
    if isinstance(value, list):
        return value
    if isinstance(default, (list, tuple)):
        return type(default)(_applied(value, item) for item in default)
    if isinstance(default, bool) or not isinstance(default, (int, float)) or default == 0:
        return default
    return type(default)(value(int(default)) if callable(value) else value)
