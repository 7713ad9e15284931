"""What reduction by name does not get right in Diffusers' autoencoders of sound: data only."""

from __future__ import annotations

from typing import Any

from torch_neuronx.sweep.diffusers.shapes import random

_MONO = {"sample": random(1, 64)}
_STEREO = {"sample": random(2, 64)}
_BLOCKS = {"resblock_dilation_sizes": ((1, 3),) * 2, "resblock_kernel_sizes": (3, 7)}

FIELDS: dict[str, dict[str, Any]] = {
    "AutoencoderKLKVAEAudio": {
        "attn_num_heads": 2,
        "codebook_dim": 8,
        "decoder_dim": 16,
        "decoder_rates": [3, 2],
        "encoder_dim": 4,
        "encoder_rates": [2, 3],
        "latent_dim": 16,
    },
    "AutoencoderKLLTX2Audio": {
        "base_channels": 16,
        "ch_mult": (1, 2),
        "latent_channels": 4,
        "mel_bins": 16,
        "num_res_blocks": 1,
        "resolution": 16,
    },
    "AutoencoderKLMiniMaxH3Audio": {
        **_BLOCKS,
        "decoder_dim": 16,
        "decoder_kernel_sizes": (4, 4),
        "decoder_rates": (2, 2),
        "encoder_dim": 4,
        "encoder_rates": (2, 2),
        "latent_channels": 8,
        "latent_dim": 32,
    },
    "AutoencoderOobleck": {
        "channel_multiples": [1, 2],
        "decoder_channels": 8,
        "decoder_input_channels": 4,
        "downsampling_ratios": [2, 4],
        "encoder_hidden_size": 8,
    },
    "AutoencoderSAME": {
        "dim_heads": 8,
        "encoder_c_mults": (1, 2),
        "encoder_channels": 16,
        "encoder_strides": (2, 2),
        "encoder_transformer_depths": (1, 1),
        "latent_dim": 8,
        "patch_size": 4,
    },
    "Cosmos3AVAEAudioTokenizer": {
        "dec_c_mults": (1, 2),
        "dec_dim": 8,
        "dec_strides": (2, 2),
        "enc_c_mults": (1,),
        "enc_dim": 8,
        "enc_hop_length": 2,
        "enc_intermediate_dim": 16,
        "enc_latent_dim": 8,
        "enc_n_fft": 8,
        "enc_num_blocks": 1,
        "enc_num_layers": 1,
        "enc_strides": (2,),
        "hop_size": 4,
        "sampling_rate": 16,
        "vocoder_input_dim": 4,
    },
    "LongCatAudioDiTVae": {
        "c_mults": [1, 2],
        "channels": 8,
        "downsampling_ratio": 4,
        "encoder_latent_dim": 16,
        "latent_dim": 8,
        "strides": [2, 2],
    },
    "MMAudioVAE": {
        "channel_multipliers": (1, 2),
        "hidden_channels": 16,
        "hop_length": 16,
        "latent_channels": 4,
        "mel_bins": 16,
        "n_fft": 64,
    },
    "MMAudioVocoder": {
        **_BLOCKS,
        "num_mels": 16,
        "upsample_initial_channel": 16,
        "upsample_kernel_sizes": (8, 4),
        "upsample_rates": (4, 2),
    },
    "MiniMaxMusic3Vocoder": {
        "decoder_hidden_dim": 16,
        "decoder_input_dim": 16,
        "latent_channels": 8,
        "upsampling_ratios": (4, 2),
    },
}

INPUTS: dict[str, dict[str, Any]] = {
    "AutoencoderKLKVAEAudio": _MONO,
    "AutoencoderKLLTX2Audio": {"sample": random(2, 8, 16)},
    "AutoencoderKLMiniMaxH3Audio": _MONO,
    "AutoencoderOobleck": _STEREO,
    "AutoencoderSAME": _STEREO,
    "Cosmos3AVAEAudioTokenizer": _STEREO,
    "LongCatAudioDiTVae": {**_MONO, "sample_posterior": False},
    "MMAudioVAE": {"sample": random(256)},
    "MMAudioVocoder": {"mel": random(16, 8)},
    "MiniMaxMusic3Vocoder": {"latents": random(8, 8)},
}
