"""What reduction by name does not get right in Diffusers' UNets, condition embedders and latent
upscalers: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one. REFUSED: what does not run by itself, and why.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.sweep.diffusers.rules import BATCH, FRAMES, SIDE, TOKENS, WIDTH
from torch_neuronx.sweep.diffusers.shapes import prompt_of_frames, random

_VIDEO_LATENTS = random(4, FRAMES, SIDE, SIDE)


def _levels(kind: str, width: int = WIDTH) -> dict[str, Any]:
    """A level with attention and one without, of blocks of this kind."""
    return {
        "block_out_channels": (width, 2 * width),
        "down_block_types": (f"CrossAttnDownBlock{kind}", f"DownBlock{kind}"),
        "up_block_types": (f"UpBlock{kind}", f"CrossAttnUpBlock{kind}"),
    }


FIELDS: dict[str, dict[str, Any]] = {
    "AnimaTextConditioner": {
        "min_sequence_length": 12,
        "model_dim": 16,
        "source_dim": 16,
        "target_dim": 16,
        "target_vocab_size": 32,
    },
    "I2VGenXLUNet": {**_levels("3D"), "num_attention_heads": 2},
    "Kandinsky3UNet": {
        "block_out_channels": (8, 16, 16, 32),
        "encoder_hid_dim": 16,
        "groups": 4,
        "layers_per_block": 2,
        "time_embedding_dim": 32,
    },
    "Kandinsky6SRLatentUpscalerBank": {
        "in_channels": 4,
        "num_mid_blocks": 1,
        "num_post_blocks": 1,
        "num_pre_blocks": 1,
        "num_x2_adapter_blocks": 1,
        "stage_channels": (16, 8, 8),
    },
    "MiniMaxMusic3ConditionEncoder": {
        "condition_hidden_dim": 16,
        "num_condition_layers": 2,
        "out_dim": 16,
    },
    "StableCascadeUNet": {
        "block_out_channels": (16, 16),
        "clip_text_pooled_in_channels": 16,
        "conditioning_dim": 16,
        "down_num_layers_per_block": (1, 1),
        "num_attention_heads": (2, 2),
        "timestep_ratio_embedding_dim": 16,
        "up_num_layers_per_block": (1, 1),
    },
    # A head of its attention has 32 channels.
    "UNet1DModel": {"block_out_channels": (32, 32, 64), "extra_in_channels": 64},
    "UNet2DConditionModel": _levels("2D"),
    "UNet2DModel": {
        "block_out_channels": (16, 32),
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    },
    "UNet3DConditionModel": _levels("3D"),
    "UNetMotionModel": {**_levels("Motion"), "motion_num_attention_heads": 2},
    # Its norms have 32 groups.
    "UNetSpatioTemporalConditionModel": {
        **_levels("SpatioTemporal", 32),
        "addition_time_embed_dim": 8,
        "num_attention_heads": (2, 2),
        "projection_class_embeddings_input_dim": 24,
    },
    "UVit2DModel": {
        "block_num_heads": 2,
        "block_out_channels": 16,
        "codebook_size": 31,
        "cond_embed_dim": 16,
        "encoder_hidden_size": 16,
        "in_channels": 16,
        "micro_cond_embed_dim": 40,
        "micro_cond_encode_dim": 8,
        "num_res_blocks": 1,
    },
}

INPUTS: dict[str, dict[str, Any]] = {
    "AnimaTextConditioner": {
        "source_hidden_states": random(TOKENS, 16),
        "target_input_ids": torch.arange(BATCH * TOKENS).view(BATCH, TOKENS),
    },
    "I2VGenXLUNet": {
        "fps": torch.tensor([8, 16]),
        "image_embeddings": random(WIDTH),
        "image_latents": _VIDEO_LATENTS,
    },
    "Kandinsky6SRLatentUpscalerBank": {"latents": _VIDEO_LATENTS, "scale": 2},
    "MiniMaxMusic3ConditionEncoder": {"hidden_states": random(TOKENS, 32)},
    "StableCascadeUNet": {
        "clip_text_pooled": random(1, 16),
        "timestep_ratio": torch.tensor([0.25, 0.75]),
    },
    "UNet1DModel": {"sample": random(2, 32)},
    "UNetMotionModel": {"encoder_hidden_states": prompt_of_frames},
    "UNetSpatioTemporalConditionModel": {
        "added_time_ids": torch.tensor([[6.0, 127.0, 0.02]] * BATCH),
        "encoder_hidden_states": random(1, WIDTH),
        "sample": random(FRAMES, 8, SIDE, SIDE),
    },
    "UVit2DModel": {
        "encoder_hidden_states": random(TOKENS, 16),
        "input_ids": torch.arange(BATCH * 16).view(BATCH, 4, 4),
        "micro_conds": torch.tensor([[64.0, 64.0, 0.0, 0.0, 6.0]] * BATCH),
        "pooled_text_emb": random(16),
    },
}

REFUSED: dict[str, str] = {
    "MotionAdapter": "it has no forward: UNetMotionModel runs its layers",
}
