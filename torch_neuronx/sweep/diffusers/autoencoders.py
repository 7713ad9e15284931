"""What reduction by name does not get right in Diffusers' autoencoders of images: data only.

FIELDS: arguments of the constructor. INPUTS: arguments of forward in place of those made by name; a
callable gets the model, and None removes one.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.sweep.diffusers.rules import BATCH, TOKENS
from torch_neuronx.sweep.diffusers.shapes import random

_RESIDUES = 5  # kinds of
_IMAGE = {"sample": random(3, 16, 16)}

FIELDS: dict[str, dict[str, Any]] = {
    "AutoencoderDC": {
        "attention_head_dim": 8,
        "decoder_block_out_channels": (16, 32),
        "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
        "decoder_layers_per_block": (1, 1),
        "decoder_qkv_multiscales": ((), (5,)),
        "encoder_block_out_channels": (16, 32),
        "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
        "encoder_layers_per_block": (1, 1),
        "encoder_qkv_multiscales": ((), (5,)),
        "latent_channels": 8,
    },
    "AutoencoderKLHunyuanImage": {
        "block_out_channels": (32, 64),
        "in_channels": 3,
        "latent_channels": 4,
        "layers_per_block": 1,
        "out_channels": 3,
        "sample_size": 16,
        "spatial_compression_ratio": 2,
    },
    "AutoencoderKLFlux2": {"latent_channels": 4},
    "AutoencoderKLKVAE": {
        "ch_mult": (1, 2),
        "channels": 32,
        "num_dec_blocks": 1,
        "num_enc_blocks": 1,
        "sample_size": 16,
        "z_channels": 4,
    },
    "AutoencoderRAE": {
        "decoder_hidden_size": 32,
        "decoder_intermediate_size": 64,
        "decoder_num_attention_heads": 4,
        "encoder_hidden_size": 64,
        "encoder_input_size": 28,
        "patch_size": 8,
    },
    "ConsistencyDecoderVAE": {
        "decoder_block_out_channels": (16, 16),
        "decoder_down_block_types": ("ResnetDownsampleBlock2D",) * 2,
        "decoder_norm_num_groups": 4,
        "decoder_up_block_types": ("ResnetUpsampleBlock2D",) * 2,
        "encoder_block_out_channels": (16, 16),
        "encoder_down_block_types": ("DownEncoderBlock2D",) * 2,
        "encoder_norm_num_groups": 4,
    },
    "RFD4ProteinaAutoencoder": {
        "allowed_residue_types": [[True] * _RESIDUES] * 3,
        "atom37_mask": [[True] * 37] * _RESIDUES,
        "dim_cond": 8,
        "latent_dim": 8,
        "n_residue_types": _RESIDUES,
        "nheads": 2,
        "nlayers": 1,
        "num_token_types": 3,
        "pair_repr_dim": 8,
        "token_dim": 16,
        "token_type_emb_dim": 8,
    },
}

INPUTS: dict[str, dict[str, Any]] = {
    "AutoencoderKLFlux2": _IMAGE,
    "AutoencoderKLHunyuanImage": _IMAGE,
    "AutoencoderKLKVAE": _IMAGE,
    "AutoencoderRAE": _IMAGE,
    "ConsistencyDecoderVAE": {**_IMAGE, "generator": torch.Generator().manual_seed(0)},
    "RFD4ProteinaAutoencoder": {
        "ca_coors_nm": random(TOKENS, 3),
        "conditioning": {
            "is_in_context_conditioning": torch.zeros(BATCH, TOKENS, dtype=torch.bool),
            "supports_local_latent": torch.ones(BATCH, TOKENS, dtype=torch.bool),
        },
        "padding_mask": torch.ones(BATCH, TOKENS, dtype=torch.bool),
        "token_type": torch.arange(BATCH * TOKENS).view(BATCH, TOKENS) % 3,
        "z_latent": random(TOKENS, 8),
    },
}
