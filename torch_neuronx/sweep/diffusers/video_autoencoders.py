"""What reduction by name does not get right in Diffusers' autoencoders of videos: data only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch_neuronx.sweep.diffusers.shapes import frozen, random

_TILE = (8, 16, 16)  # frames, height and width
_VIDEO = {"sample": random(3, 5, 16, 16)}
_CAUSAL_LEVELS = {
    "base_dim": 8,
    "dim_mult": [1, 2],
    "num_res_blocks": 1,
    "temperal_downsample": [True],
    "z_dim": 16,
}
_HUNYUAN = {
    "block_out_channels": (16, 16, 32),
    "latent_channels": 4,
    "spatial_compression_ratio": 4,
    "temporal_compression_ratio": 2,
}
_LTX = {
    "block_out_channels": (8, 16),
    "decoder_block_out_channels": (8, 16),
    "decoder_inject_noise": (False,) * 3,
    "decoder_layers_per_block": (1, 1, 1),
    "decoder_spatio_temporal_scaling": (True, True),
    "latent_channels": 8,
    "layers_per_block": (1, 1, 1),
    "patch_size": 2,
    "spatio_temporal_scaling": (True, True),
    "upsample_factor": (1, 1),
    "upsample_residual": (False, False),
}

FIELDS: dict[str, dict[str, Any]] = {
    "AutoencoderKLAllegro": {
        "block_out_channels": (8, 16),
        "down_block_types": ("AllegroDownBlock3D",) * 2,
        "temporal_compression_ratio": 2,
        "temporal_downsample_blocks": (True, False),
        "temporal_upsample_blocks": (False, True),
        "up_block_types": ("AllegroUpBlock3D",) * 2,
    },
    "AutoencoderKLCogVideoX": {
        "block_out_channels": (8, 16),
        "down_block_types": ("CogVideoXDownBlock3D",) * 2,
        "temporal_compression_ratio": 2,
        "up_block_types": ("CogVideoXUpBlock3D",) * 2,
    },
    "AutoencoderKLCosmos": {
        "attention_resolutions": (8,),
        "decode_block_out_channels": (16, 16, 16),
        "encoder_block_out_channels": (16, 16, 16),
        "latent_channels": 4,
        "resolution": 64,
        "spatial_compression_ratio": 4,
        "temporal_compression_ratio": 4,
    },
    "AutoencoderKLHunyuanImageRefiner": _HUNYUAN,
    "AutoencoderKLHunyuanVideo15": _HUNYUAN,
    "AutoencoderKLKVAEVideo": {
        "ch": 32,
        "ch_mult": (1, 2),
        "num_res_blocks": 1,
        "temporal_compress_times": 2,
        "z_channels": 4,
    },
    "AutoencoderKLLTX2Video": {
        **_LTX,
        "down_block_types": ("LTX2VideoDownBlock3D",) * 2,
        "downsample_type": ("spatial", "spatiotemporal"),
        "upsample_factor": (2, 2),
        "upsample_residual": (True, True),
        "upsample_type": ("spatiotemporal", "spatial"),
    },
    "AutoencoderKLLTXVideo": {
        **_LTX,
        "down_block_types": ("LTXVideoDownBlock3D",) * 2,
        "downsample_type": ("conv", "conv"),
    },
    "AutoencoderKLMiniMaxH3": {
        "block_out_channels": (8, 16),
        "clip_length": 5,
        "decoder_attention_head_dim": 8,
        "decoder_ffn_mult": 2,
        "decoder_num_layers": 1,
        "decoder_num_register_tokens": 2,
        "latent_channels": 4,
        "latents_mean": (0.0,) * 4,
        "latents_std": (1.0,) * 4,
        "spatial_downsample_factors": (2, 2),
        "temporal_downsample_factors": (2, 2),
        "token_drop": 1,
    },
    "AutoencoderKLMochi": {
        "decoder_block_out_channels": (32, 32, 32, 32),
        "encoder_block_out_channels": (32, 32, 32, 32),
        "layers_per_block": (1, 1, 1, 1, 1),
        "latent_channels": 4,
        "latents_mean": (0.0,) * 4,
        "latents_std": (1.0,) * 4,
    },
    "AutoencoderKLQwenImage": _CAUSAL_LEVELS,
    "AutoencoderKLQwenImage21": {
        **_CAUSAL_LEVELS,
        "decoder_base_dim": 8,
        "dim_mult": [1, 2, 2],
        "temperal_downsample": [False, True],
        "z_dim": 64,
    },
    "AutoencoderKLTemporalDecoder": {"block_out_channels": (32,)},
    "AutoencoderKLWan": _CAUSAL_LEVELS,
    "AutoencoderVidTok": {"ch": 32, "ch_mult": (1, 2), "num_res_blocks": 1},
    "Kandinsky6SRVAE": {
        "decoder_block_out_channels": (8, 8, 16),
        "encoder_block_out_channels": (8, 8, 16),
        "latent_channels": 4,
        "layers_per_block": 1,
        "temporal_compression_ratio": 2,
    },
    "LTX2VideoDiffusionDecoderModel": {
        "decoder_head_dim": 8,
        "decoder_stage5_kernel": (3, 3, 3),
        "decoder_stage_channels": (32, 16, 16),
        "decoder_stage_depths": (1, 1, 1),
        "decoder_stage_kernels": ((3, 3, 3),) * 2,
        "decoder_t_emb_dim": 32,
        "decoder_upsample_channel_reductions": (2, 1),
        "decoder_upsample_strides": ((1, 2, 2), (2, 1, 1)),
        "latent_channels": 8,
        "patch_size": 2,
        "spatial_compression_ratio": 4,
        "temporal_compression_ratio": 2,
    },
}

INPUTS: dict[str, dict[str, Any]] = {
    "AutoencoderKLAllegro": {"sample": lambda model: torch.randn(1, 3, *_TILE)},
    "AutoencoderKLCosmos": {"sample": random(3, 5, 32, 32)},
    "AutoencoderKLHunyuanImageRefiner": _VIDEO,
    # The mask of its attention has no dimension of heads, and so fits one video.
    "AutoencoderKLHunyuanVideo15": {"sample": lambda model: torch.randn(1, 3, 5, 16, 16)},
    "AutoencoderKLKVAEVideo": _VIDEO,
    "AutoencoderKLLTX2Video": _VIDEO,
    "AutoencoderKLLTXVideo": _VIDEO,
    "AutoencoderKLMagvit": _VIDEO,
    "AutoencoderKLMiniMaxH3": {"sample": random(3, 10, 16, 16)},
    "AutoencoderKLMochi": {"sample": random(3, 7, 16, 16)},
    "AutoencoderKLQwenImage": _VIDEO,
    "AutoencoderKLQwenImage21": {"sample": random(4, 1, 16, 16)},
    "AutoencoderKLTemporalDecoder": {"sample": random(3, 16, 16), "num_frames": 2},
    "AutoencoderKLWan": _VIDEO,
    "AutoencoderVidTok": {**_VIDEO, "sample_posterior": False},
    "Kandinsky6SRVAE": _VIDEO,
    "LTX2VideoDiffusionDecoderModel": {
        "generator": torch.Generator().manual_seed(0),
        "z": random(8, 2, 3, 3),
    },
}


def _in_tiles(model: Any) -> None:
    """It encodes in tiles only; these are as small as the video."""
    model.enable_tiling()
    model.kernel, model.stride = _TILE, _TILE


PREPARED: dict[str, Callable[[Any], None]] = {
    "AutoencoderKLAllegro": _in_tiles,
    "LTX2VideoDiffusionDecoderModel": frozen,
}
