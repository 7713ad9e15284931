"""What reduction by name does not get right in Diffusers' transformers of images: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep.diffusers.rules import BATCH, SIDE, TOKENS, WIDTH
from torch_neuronx.sweep.diffusers.shapes import (
    PADDED,
    STEPS,
    TIMES,
    integers,
    packed,
    positions,
    random,
)

_PATCHES = (SIDE // 2) ** 2  # of an image that a model cuts into patches of 2 by 2

_TWO = {"num_layers": 2}  # for what the last layer does to the prompt is not returned

FIELDS: dict[str, dict[str, Any]] = {
    "BriaFibo2Transformer2DModel": {
        "in_channels": 4,
        "dim": 32,  # the feed-forward layers are a multiple of 64 wide, rounded down
        "n_heads": 4,
        "injection_layer_ids": (0,),
        "min_num_gist_tokens": 4,
        "max_num_gist_tokens": 8,
        "gist_step": 2,
        "gist_min_text_len": 4,
        "gist_max_text_len": 16,
        "axes_lens": (32, SIDE, SIDE),
    },
    "BriaFiboTransformer2DModel": {"text_encoder_dim": WIDTH // 2},
    "ChromaTransformer2DModel": {
        "approximator_num_channels": WIDTH,
        "approximator_hidden_dim": WIDTH,
    },
    "DreamLiteTransformer2DModel": {"in_channels": 8, "cross_attention_dim": WIDTH},
    "ErnieImageTransformer2DModel": {
        "in_channels": 8,
        "out_channels": 8,
        "ffn_hidden_size": 2 * WIDTH,
        "text_in_dim": WIDTH,
    },
    "Flux2Transformer2DModel": {"in_channels": 8, "timestep_guidance_channels": WIDTH},
    "Flux3Transformer2DModel": {
        "in_channels": 8,
        "cond_in_channels": 8,
        "timestep_channels": WIDTH,
    },
    "GlmImageTransformer2DModel": {
        "time_embed_dim": WIDTH,
        "condition_dim": 8,
        "prior_vq_quantizer_codebook_size": 32,
    },
    "HiDreamImageTransformer2DModel": {
        "patch_size": 2,
        "in_channels": 4,
        "caption_channels": [WIDTH, WIDTH],
        "text_emb_dim": WIDTH,
        "axes_dims_rope": (4, 2, 2),
        "max_resolution": (SIDE, SIDE),
        "llama_layers": [0, 1],
    },
    "HunyuanDiT2DModel": {
        "in_channels": 4,
        "patch_size": 2,
        "cross_attention_dim_t5": WIDTH,
        "text_len": TOKENS,
        "text_len_t5": TOKENS,
    },
    "HunyuanImageTransformer2DModel": {
        "in_channels": 8,
        "out_channels": 8,
        "text_embed_2_dim": WIDTH,
    },
    "Ideogram4Transformer2DModel": {
        "in_channels": 8,
        "adaln_dim": WIDTH,
        "llm_features_dim": WIDTH,
        "mrope_section": (2, 1, 1),
    },
    "Krea2Transformer2DModel": {
        "timestep_embed_dim": WIDTH,
        "text_hidden_dim": WIDTH,
        "num_text_layers": 3,
        "text_num_key_value_heads": 2,
        "text_intermediate_size": 2 * WIDTH,
        "num_layerwise_text_blocks": 1,
        "num_refiner_text_blocks": 1,
    },
    "Lumina2Transformer2DModel": {"multiple_of": WIDTH, "axes_lens": (32, SIDE, SIDE)},
    "LuminaNextDiT2DModel": {"multiple_of": WIDTH, "num_kv_heads": 1},
    "NucleusMoEImageTransformer2DModel": {
        "num_layers": 2,
        "mlp_ratio": 12.0,  # the dense layers are a multiple of 128 wide, rounded down
        "dense_moe_strategy": "leave_first_block_dense",
        "num_experts": 4,
        "moe_intermediate_dim": WIDTH,
        "capacity_factors": 2.0,
    },
    "OmniGenTransformer2DModel": {
        "pad_token_id": 0,
        "rope_scaling": {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
        "pos_embed_max_size": SIDE,
        "time_step_dim": WIDTH,
    },
    "PRXTransformer2DModel": {"context_in_dim": WIDTH, "axes_dim": [4, 4]},
    "PriorTransformer": {"num_embeddings": TOKENS},
    "QwenImage21Transformer2DModel": {"context_in_dim": WIDTH},
    "QwenImageTransformer2DModel": _TWO,
    "SD3Transformer2DModel": {**_TWO, "caption_projection_dim": WIDTH},
    "Transformer2DModel": {"in_channels": 8, "cross_attention_dim": WIDTH},
    "ZImageTransformer2DModel": {"axes_lens": [128, SIDE, SIDE]},
}

INPUTS: dict[str, dict[str, Any]] = {
    "BriaFibo2Transformer2DModel": {
        "timestep": TIMES,
        "encoder_hidden_states": random(2, TOKENS, WIDTH),
        "encoder_attention_mask": PADDED,
    },
    "BriaFiboTransformer2DModel": {
        "hidden_states": packed,
        "text_encoder_layers": lambda model: [torch.randn(BATCH, TOKENS, WIDTH // 2)] * 2,
    },
    "BriaTransformer2DModel": {"hidden_states": packed},
    "DreamLiteTransformer2DModel": {"encoder_attention_mask": PADDED},
    "ErnieImageTransformer2DModel": {
        "text_bth": random(TOKENS, WIDTH),
        "text_lens": PADDED.sum(1),
    },
    "Flux2Transformer2DModel": {
        "img_ids": positions(1, SIDE, SIDE, 1),
        "txt_ids": positions(1, 1, 1, TOKENS),
    },
    "Flux3Transformer2DModel": {
        "timestep": TIMES,
        "img_ids": positions(1, SIDE, SIDE, 1),
        "txt_ids": positions(1, 1, 1, TOKENS),
        "image_cond_hidden_states": random(_PATCHES, 8),
        "image_cond_ids": positions(1, SIDE // 2, SIDE // 2, 1),
    },
    "GlmImageTransformer2DModel": {
        "prior_token_id": integers(32, _PATCHES),
        "prior_token_drop": torch.tensor([[False], [True]]).expand(-1, _PATCHES),
    },
    "HiDreamImageTransformer2DModel": {
        "timesteps": torch.tensor([3, 7]),
        "encoder_hidden_states_t5": random(TOKENS, WIDTH),
        "encoder_hidden_states_llama3": lambda model: torch.randn(2, BATCH, TOKENS, WIDTH),
        "pooled_embeds": random(WIDTH),
    },
    "HunyuanDiT2DModel": {
        "timestep": STEPS,
        "text_embedding_mask": PADDED,
        "encoder_hidden_states_t5": random(TOKENS, WIDTH),
        "text_embedding_mask_t5": PADDED,
        "image_meta_size": torch.full((BATCH, 6), 32.0),
        "style": torch.zeros(BATCH, dtype=torch.int64),
        "image_rotary_emb": lambda model: (torch.randn(_PATCHES, 8), torch.randn(_PATCHES, 8)),
    },
    "HunyuanImageTransformer2DModel": {
        "timestep": STEPS,
        "encoder_attention_mask": PADDED,
        "encoder_hidden_states_2": random(TOKENS, WIDTH),
        "encoder_attention_mask_2": PADDED,
    },
    "Ideogram4Transformer2DModel": {
        "hidden_states": random(TOKENS + _PATCHES, 8),
        "timestep": TIMES,
        "encoder_hidden_states": random(TOKENS + _PATCHES, WIDTH),
        "position_ids": positions(1, TOKENS + _PATCHES, 1).long().expand(BATCH, -1, -1),
        "segment_ids": torch.ones(BATCH, TOKENS + _PATCHES, dtype=torch.int64),
        # 3: a token of text, 2: of the image
        "indicator": torch.tensor([3] * TOKENS + [2] * _PATCHES).expand(BATCH, -1),
    },
    "Krea2Transformer2DModel": {
        "hidden_states": packed,
        "timestep": TIMES,
        "encoder_hidden_states": random(TOKENS, 3, WIDTH),
        "position_ids": torch.cat([torch.zeros(TOKENS, 3), positions(1, SIDE, SIDE)]),
        "encoder_attention_mask": PADDED,
    },
    "Lumina2Transformer2DModel": {"encoder_attention_mask": PADDED},
    "LuminaNextDiT2DModel": {
        "encoder_mask": PADDED.long(),
        "cross_attention_kwargs": {},
        "image_rotary_emb": lambda model: torch.randn(SIDE, SIDE, 4, dtype=torch.complex64),
    },
    "NucleusMoEImageTransformer2DModel": {
        "hidden_states": packed,
        "img_shapes": [(1, SIDE, SIDE)] * BATCH,
    },
    "OmniGenTransformer2DModel": {
        "input_ids": integers(32, TOKENS),
        "input_img_latents": lambda model: [torch.randn(1, 4, 4, 4)],
        "input_image_sizes": {0: [[1, 5]]},
        "attention_mask": torch.ones(BATCH, TOKENS + 1 + _PATCHES, TOKENS + 1 + _PATCHES).tril(),
        "position_ids": torch.arange(TOKENS + 1 + _PATCHES).expand(BATCH, -1),
    },
    "PriorTransformer": {
        "hidden_states": random(WIDTH),
        "proj_embedding": random(WIDTH),
        "encoder_hidden_states": random(TOKENS, WIDTH),
        "attention_mask": PADDED,
    },
    "PRXTransformer2DModel": {
        "encoder_hidden_states": random(TOKENS, WIDTH),
        "attention_mask": PADDED,
    },
    "QwenImage21Transformer2DModel": {
        "timestep": TIMES,
        "encoder_hidden_states": random(TOKENS, WIDTH),
        "img_mask": torch.arange(TOKENS + _PATCHES).ge(TOKENS).expand(BATCH, -1),
    },
    "Transformer2DModel": {"encoder_attention_mask": PADDED},
    "ZImageTransformer2DModel": {
        "x": lambda model: [torch.randn(16, 1, SIDE, SIDE) for _ in range(BATCH)],
        "t": TIMES,
        "cap_feats": lambda model: [torch.randn(n, WIDTH) for n in (TOKENS, TOKENS - 3)],
    },
}


def trained(model: nn.Module) -> None:
    """In training mode, for in evaluation the experts have no gradient."""
    model.train()


# What is done to a model before it runs.
PREPARED: dict[str, Callable[[nn.Module], None]] = {"HiDreamImageTransformer2DModel": trained}
