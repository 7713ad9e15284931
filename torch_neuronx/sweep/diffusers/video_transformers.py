"""What reduction by name does not get right in Diffusers' transformers of videos: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep.diffusers.rules import BATCH, FRAMES, SIDE, TOKENS, WIDTH
from torch_neuronx.sweep.diffusers.shapes import PADDED, STEPS, frames_first, frozen, random

_TWO = {"num_layers": 2}  # for what the last layer does to the prompt is not returned
_COGVIDEO = {"max_text_seq_length": TOKENS, "sample_frames": 4 * FRAMES - 3}

_KANDINSKY = {
    "in_text_dim": WIDTH,
    "in_text_dim2": WIDTH,
    "time_dim": WIDTH,
    "model_dim": WIDTH,
    "ff_dim": 2 * WIDTH,
    "num_text_blocks": 1,
    "num_visual_blocks": 1,
    "axes_dims": (4, 2, 2),
}

_LTX2 = {
    "in_channels": 8,
    "out_channels": 8,
    "audio_in_channels": 8,
    "audio_out_channels": 8,
    "audio_attention_head_dim": 4,
    "audio_cross_attention_dim": 8,
    "caption_channels": WIDTH,
}

FIELDS: dict[str, dict[str, Any]] = {
    "AnyFlowFARTransformer3DModel": {"full_chunk_limit": 2, "chunk_partition": (1, 1, 1)},
    "CogVideoXTransformer3DModel": {**_COGVIDEO, "time_embed_dim": WIDTH},
    "ConsisIDTransformer3DModel": {
        **_COGVIDEO,
        "time_embed_dim": WIDTH,
        "is_train_face": True,
        "cross_attn_interval": 1,
        "cross_attn_dim_head": 8,
        "cross_attn_num_heads": 2,
        "LFE_id_dim": WIDTH,
        "LFE_vit_dim": WIDTH,
        "LFE_depth": 2,
        "LFE_dim_head": 8,
        "LFE_num_heads": 2,
        "LFE_num_id_token": 2,
        "LFE_num_querie": 4,
        "LFE_output_dim": 2 * WIDTH // 3,
        "LFE_num_scale": 2,
    },
    "CosmosTransformer3DModel": {
        "attention_head_dim": 16,
        "adaln_lora_dim": WIDTH,
        "encoder_hidden_states_channels": WIDTH,
        "max_size": (FRAMES, SIDE, SIDE),
    },
    "EasyAnimateTransformer3DModel": {
        **_TWO,
        "attention_head_dim": 16,
        "in_channels": 4,
        "out_channels": 4,
        "patch_size": 2,
        "time_embed_dim": WIDTH,
    },
    "HunyuanVideo15Transformer3DModel": {
        **_TWO,
        "in_channels": 8,
        "out_channels": 8,
        "text_embed_2_dim": WIDTH,
        "image_embed_dim": WIDTH,
    },
    "HunyuanVideoFramepackTransformer3DModel": {
        "has_image_proj": True,
        "image_proj_dim": WIDTH,
        "has_clean_x_embedder": True,
    },
    "JoyImageEditPlusTransformer3DModel": _TWO,
    "JoyImageEditTransformer3DModel": _TWO,
    "Kandinsky5Transformer3DModel": _KANDINSKY,
    "Kandinsky6Transformer3DModel": {**_KANDINSKY, "ca_rope": True, "cross_gates": True},
    "Kandinsky6SRTransformer3DModel": {
        "in_visual_dim": 4,
        "out_visual_dim": 4,
        "time_dim": WIDTH,
        "model_dim": WIDTH,
        "ff_dim": 2 * WIDTH,
        "num_visual_blocks": 1,
        "nabla_window": (1, 1, 1),
    },
    "LatteTransformer3DModel": {
        "in_channels": 4,
        "patch_size": 2,
        "cross_attention_dim": WIDTH,
        "caption_channels": WIDTH,
        "norm_type": "ada_norm_single",
        "video_length": FRAMES,
    },
    "LTX2VideoTransformer3DModel": _LTX2,
    "LTXVideoTransformer3DModel": {"in_channels": 8, "out_channels": 8},
    "MochiTransformer3DModel": _TWO,
    "MotifVideoTransformer3DModel": {
        "in_channels": 8,
        "out_channels": 8,
        "num_layers": 2,
        "num_decoder_layers": 1,
        "image_embed_dim": WIDTH,
    },
    "SanaWMLTX2RefinerTransformer3DModel": _LTX2,
    "SanaWMTransformer3DModel": {
        "in_channels": 4,
        "num_layers": 2,
        "softmax_every_n": 2,
        "linear_head_dim": 8,
        "chunk_plucker_channels": 6,
        "image_size": SIDE,
    },
    "TransformerTemporalModel": {"in_channels": 8},
    "WanAnimateTransformer3DModel": {
        "in_channels": 12,
        "latent_channels": 4,
        "out_channels": 4,
        "image_dim": WIDTH,
        "motion_encoder_channel_sizes": {"4": 16, "8": 8, "16": 4},
        "motion_encoder_size": 16,
        "motion_style_dim": WIDTH,
        "motion_dim": 4,
        "motion_encoder_dim": WIDTH,
        "face_encoder_hidden_dim": WIDTH,
        "face_encoder_num_heads": 2,
        "inject_face_latents_blocks": 1,
    },
    "WanAnimate2Transformer3DModel": {
        "text_len": TOKENS,
        "in_dim": 8,
        "out_dim": 4,
        "freq_dim": WIDTH,
    },
    "WanVACETransformer3DModel": {"vace_layers": [0], "vace_in_channels": 8},
}

_CLIP_TOKENS = 257  # an image's, which some models take for given

INPUTS: dict[str, dict[str, Any]] = {
    "AnyFlowFARTransformer3DModel": {
        "hidden_states": lambda model: torch.randn(BATCH, 3, model.config.in_channels, SIDE, SIDE),
        "timestep": torch.tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]),
        "r_timestep": torch.zeros(BATCH, 3),
        "chunk_partition": [1, 1, 1],
    },
    "AnyFlowTransformer3DModel": {
        "hidden_states": frames_first,
        "timestep": torch.tensor([[3.0, 5.0], [2.0, 7.0]]),
        "r_timestep": torch.zeros(BATCH, FRAMES),
    },
    "ConsisIDTransformer3DModel": {
        "hidden_states": frames_first,
        "id_cond": random(WIDTH),
        "id_vit_hidden": lambda model: [torch.randn(BATCH, TOKENS, WIDTH) for _ in range(2)],
    },
    "CosmosTransformer3DModel": {
        "fps": 24,
        "padding_mask": torch.zeros(1, 1, SIDE, SIDE),
    },
    "HeliosTransformer3DModel": {
        "indices_hidden_states": torch.arange(7, 9).expand(BATCH, -1),
        "latents_history_short": random(16, 1, SIDE, SIDE),
        "indices_latents_history_short": torch.tensor([[6]] * BATCH),
        "latents_history_mid": random(16, 2, SIDE, SIDE),
        "indices_latents_history_mid": torch.arange(4, 6).expand(BATCH, -1),
        "latents_history_long": random(16, 4, SIDE, SIDE),
        "indices_latents_history_long": torch.arange(4).expand(BATCH, -1),
    },
    "HunyuanVideo15Transformer3DModel": {
        "timestep": STEPS,
        "encoder_attention_mask": PADDED,
        "encoder_hidden_states_2": random(TOKENS, WIDTH),
        "encoder_attention_mask_2": PADDED,
        "image_embeds": random(4, WIDTH),
    },
    "HunyuanVideoFramepackTransformer3DModel": {
        "encoder_attention_mask": PADDED,
        "image_embeds": random(4, WIDTH),
        "indices_latents": torch.arange(7, 9),
        "latents_clean": random(16, 1, SIDE, SIDE),
        "indices_latents_clean": torch.arange(6, 7),
        "latents_history_2x": random(16, 2, SIDE, SIDE),
        "indices_latents_history_2x": torch.arange(4, 6),
        "latents_history_4x": random(16, 4, SIDE, SIDE),
        "indices_latents_history_4x": torch.arange(4),
    },
    "HunyuanVideoTransformer3DModel": {"encoder_attention_mask": PADDED},
    "JoyImageEditPlusTransformer3DModel": {
        "hidden_states": random(2 * (SIDE // 2) ** 2, 16, 1, 2, 2),
        "encoder_hidden_states_mask": PADDED,
        "shape_list": [[(1, SIDE // 2, SIDE // 2)] * 2] * BATCH,
    },
    "Kandinsky5Transformer3DModel": {
        "hidden_states": random(FRAMES, SIDE, SIDE, 4),
        "pooled_projections": random(WIDTH),
        "visual_rope_pos": [torch.arange(n) for n in (FRAMES, SIDE // 2, SIDE // 2)],
        "text_rope_pos": torch.arange(TOKENS),
    },
    "Kandinsky6Transformer3DModel": {
        "hidden_states": random(FRAMES, SIDE, SIDE, 33),
        "encoder_hidden_states": random(TOKENS, WIDTH),
        "encoder_attention_mask": PADDED,
        "pooled_projections": random(WIDTH),
        "audio_hidden_states": random(TOKENS, 20),
    },
    "Kandinsky6SRTransformer3DModel": {
        "hidden_states": random(FRAMES, SIDE, SIDE, 9),
    },
    "LatteTransformer3DModel": {
        # it repeats the prompt for each frame, but not a mask
        "encoder_attention_mask": torch.where(PADDED, 0.0, -1e4)[:, None].repeat_interleave(
            FRAMES, 0
        ),
    },
    "LTX2VideoTransformer3DModel": {
        "audio_hidden_states": random(TOKENS, 8),
        "audio_encoder_hidden_states": random(TOKENS, WIDTH),
        "encoder_attention_mask": PADDED,
        "audio_encoder_attention_mask": PADDED,
        "num_frames": FRAMES,
        "height": SIDE,
        "width": SIDE,
        "audio_num_frames": TOKENS,
    },
    "LTXVideoTransformer3DModel": {"num_frames": FRAMES, "height": SIDE, "width": SIDE},
    "MotifVideoTransformer3DModel": {
        "encoder_attention_mask": PADDED,
        "image_embeds": random(4, WIDTH),
    },
    "SanaWMLTX2RefinerTransformer3DModel": {
        "hidden_states": random(FRAMES * SIDE * SIDE, 8),
        "timestep": lambda model: 10 * torch.rand(BATCH, FRAMES * SIDE * SIDE),
        "video_rotary_emb": lambda model: model.build_rotary_emb_for_absolute_positions(
            BATCH, [3, 4], SIDE, SIDE, torch.device("cpu"), 24.0
        ),
        "encoder_attention_mask": PADDED,
    },
    "SanaWMTransformer3DModel": {
        "timestep": torch.tensor([[[3, 5]], [[2, 7]]]),
        "encoder_hidden_states": random(1, TOKENS, WIDTH),
        "encoder_attention_mask": PADDED,
        "camera_conditions": random(FRAMES, 20),
        "chunk_plucker": random(6, FRAMES, SIDE, SIDE),
    },
    "TransformerTemporalModel": {
        "hidden_states": lambda model: torch.randn(BATCH * FRAMES, 8, SIDE, SIDE),
        "encoder_hidden_states": None,
        "num_frames": FRAMES,
    },
    "WanAnimateTransformer3DModel": {
        "hidden_states": random(12, FRAMES + 1, SIDE, SIDE),
        "encoder_hidden_states_image": random(_CLIP_TOKENS, WIDTH),
        "pose_hidden_states": random(4, FRAMES, SIDE, SIDE),
        "face_pixel_values": random(3, 4 * FRAMES - 3, 16, 16),
    },
    "WanAnimate2Transformer3DModel": {
        "hidden_states": lambda model: list(torch.randn(BATCH, 4, FRAMES, SIDE, SIDE)),
        "encoder_hidden_states": lambda model: [
            torch.randn(n, WIDTH) for n in (TOKENS, TOKENS - 3)
        ],
        "condition_latents": lambda model: list(torch.randn(BATCH, 4, FRAMES, SIDE, SIDE)),
        "kv_cache": lambda model: wan_cache(model),
        "kv_cache_mode": "extract",  # the other pass needs FlexAttention, whose backward no CPU has
        "seq_len": FRAMES * (SIDE // 2) ** 2,
        "encoder_hidden_states_image": random(_CLIP_TOKENS, 1280),
        "offset_grid_sizes": torch.tensor([[FRAMES, SIDE // 2, SIDE // 2]] * BATCH),
    },
    "WanVACETransformer3DModel": {
        "control_hidden_states": random(8, FRAMES, SIDE, SIDE),
    },
}


def wan_cache(model: Any) -> Any:
    """What the pass over the reference fills with keys and values."""
    from diffusers.models.transformers.transformer_wan_animate_2 import WanAnimate2KVCache

    return WanAnimate2KVCache(model.config.num_layers)


# What is done to a model before it runs.
PREPARED: dict[str, Callable[[nn.Module], None]] = {
    "AnyFlowFARTransformer3DModel": frozen,
    "Kandinsky6SRTransformer3DModel": frozen,
}
