"""What reduction by name does not get right in Diffusers' ControlNets and adapters: data only."""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.sweep import libraries
from torch_neuronx.sweep.diffusers.rules import BATCH, FRAMES, SIDE, TOKENS, WIDTH
from torch_neuronx.sweep.diffusers.shapes import prompt_of_frames, random

_LATENTS = random(4, SIDE, SIDE)
_PATCHES = random(SIDE * SIDE, 64)
_LEVELS = {
    "block_out_channels": (16, 32),
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
}

FIELDS: dict[str, dict[str, Any]] = {
    "ControlNetModel": _LEVELS,
    "ControlNetUnionModel": {
        **_LEVELS,
        "addition_time_embed_dim": 8,
        "num_proj_channel": 16,
        "num_trans_channel": 16,
        "num_trans_head": 2,
        "projection_class_embeddings_input_dim": 48,
    },
    "CosmosControlNetModel": {
        "adaln_lora_dim": 4,
        "attention_head_dim": 16,
        "in_channels": 6,
        "latent_channels": 6,
        "max_size": (4, 16, 16),
        "model_channels": 32,
        "n_controlnet_blocks": 1,
    },
    "HunyuanDiT2DControlNetModel": {
        "cross_attention_dim_t5": 16,
        "in_channels": 4,
        "patch_size": 2,
        "pooled_projection_dim": 16,
        "text_len": TOKENS,
        "text_len_t5": TOKENS,
        "transformer_num_layers": 4,
    },
    "SD3ControlNetModel": {"in_channels": 4},
    "SanaControlNetModel": {
        "cross_attention_head_dim": 8,
        "in_channels": 4,
        "num_cross_attention_heads": 2,
        "sample_size": SIDE,
    },
    "SparseControlNetModel": {
        "block_out_channels": (16, 32),
        "down_block_types": ("CrossAttnDownBlockMotion", "DownBlockMotion"),
        "motion_num_attention_heads": 2,
    },
    "T2IAdapter": {"channels": [16, 16, 32, 32]},
    "UNetControlNetXSModel": {
        **_LEVELS,
        "ctrl_block_out_channels": (4, 8),
        "ctrl_num_attention_heads": 2,
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
    },
    "ZImageControlNetModel": {
        "control_in_dim": 16,
        "control_layers_places": [0],
        "dim": 16,
        "n_heads": 2,
        "n_kv_heads": 2,
        "n_refiner_layers": 1,
    },
}

INPUTS: dict[str, dict[str, Any]] = {
    "ControlNetUnionModel": {
        "control_type": torch.tensor([[1, 0, 0, 0, 0, 0]] * BATCH),
        "control_type_idx": [0],
        "controlnet_cond": lambda model: [torch.randn(BATCH, 3, 8 * SIDE, 8 * SIDE)],
    },
    "CosmosControlNetModel": {
        "condition_mask": torch.ones(BATCH, 1, FRAMES, SIDE, SIDE),
        "controls_latents": random(4, FRAMES, SIDE, SIDE),
        "latents": random(4, FRAMES, SIDE, SIDE),
        "padding_mask": torch.zeros(1, 1, SIDE, SIDE),
        "timestep": torch.tensor([0.25, 0.75]),
    },
    "FluxControlNetModel": {"controlnet_cond": _PATCHES},
    "HunyuanDiT2DControlNetModel": {
        "controlnet_cond": _LATENTS,
        "encoder_hidden_states_t5": random(TOKENS, 16),
        "image_meta_size": torch.tensor([[32, 32, 32, 32, 0, 0]] * BATCH),
        "style": torch.tensor([0] * BATCH),
        "text_embedding_mask": torch.ones(BATCH, TOKENS, dtype=torch.int64),
        "text_embedding_mask_t5": torch.ones(BATCH, TOKENS, dtype=torch.int64),
        "timestep": torch.tensor([3.0, 7.0]),
    },
    "QwenImageControlNetModel": {"controlnet_cond": _PATCHES},
    "SD3ControlNetModel": {"controlnet_cond": _LATENTS},
    "SanaControlNetModel": {"controlnet_cond": _LATENTS},
    "SparseControlNetModel": {
        "conditioning_mask": torch.ones(BATCH, 1, FRAMES, SIDE, SIDE),
        "controlnet_cond": random(4, FRAMES, SIDE, SIDE),
        "encoder_hidden_states": prompt_of_frames,
        "sample": random(4, FRAMES, SIDE, SIDE),
    },
    "ZImageControlNetModel": {
        "cap_feats": lambda model: [torch.randn(TOKENS, WIDTH) for _ in range(BATCH)],
        "control_context": lambda model: [torch.randn(16, 1, SIDE, SIDE) for _ in range(BATCH)],
        "t": torch.tensor([0.25, 0.75]),
        "x": lambda model: [torch.randn(16, 1, SIDE, SIDE) for _ in range(BATCH)],
    },
}


def _beside_a_transformer(model: Any) -> None:
    """It takes its embedders and refiners from the transformer that it controls."""
    transformer = libraries.load("diffusers").ZImageTransformer2DModel(
        axes_dims=[4, 2, 2],
        axes_lens=[64, 64, 64],
        cap_feat_dim=WIDTH,
        dim=16,
        n_heads=2,
        n_kv_heads=2,
        n_layers=1,
        n_refiner_layers=1,
    )
    model.from_transformer(model, transformer.eval())
    model.gradient_checkpointing = False  # its forward asks, its constructor does not say


PREPARED = {"ZImageControlNetModel": _beside_a_transformer}

REFUSED: dict[str, str] = {
    "ControlNetXSAdapter": "it does not run by itself: UNetControlNetXSModel runs its layers",
}
