"""What reduction by name does not get right in Diffusers' other transformers: data only.

Of audio, of molecules, and of several modalities in one sequence. FIELDS: arguments of the constructor.
INPUTS: arguments of forward in place of those made by name; a callable gets the model, and None removes
one.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.sweep.diffusers.rules import BATCH, TOKENS, WIDTH
from torch_neuronx.sweep.diffusers.shapes import PADDED, STEPS, TIMES, normal

FIELDS: dict[str, dict[str, Any]] = {
    "AceStepTransformer1DModel": {
        "num_hidden_layers": 2,
        "in_channels": 12,
        "audio_acoustic_hidden_dim": 4,
        "sliding_window": 2,
    },
    "LongCatAudioDiTTransformer": {
        "dit_dim": WIDTH,
        "dit_depth": 2,
        "dit_heads": 2,
        "dit_text_dim": WIDTH,
        "latent_dim": 8,
    },
    "MiniMaxMusic3RVQDepthDecoder": {"audio_vocab_size": 32},
    "MiniMaxMusic3Transformer1DModel": {
        "in_channels": 8,
        "condition_dim": WIDTH,
        "rotary_dim": 4,
        "fourier_embedding_dim": WIDTH,
    },
    "StableAudio3DiTModel": {
        "io_channels": 8,
        "embed_dim": WIDTH,
        "cond_token_dim": WIDTH,
        "global_cond_dim": WIDTH,
        "local_add_cond_dim": 9,
        "timestep_features_dim": WIDTH,
        "num_memory_tokens": 2,
    },
    "StableAudioDiTModel": {
        "num_key_value_attention_heads": 1,
        "in_channels": 8,
        "cross_attention_input_dim": WIDTH,
        "time_proj_dim": WIDTH,
        "global_states_input_dim": WIDTH,
    },
    "T5FilmDecoder": {
        "input_dims": 8,
        "targets_length": TOKENS,
        "d_model": WIDTH,
        "d_kv": 8,
        "d_ff": 2 * WIDTH,
    },
}

INPUTS: dict[str, dict[str, Any]] = {
    "AceStepTransformer1DModel": {
        "hidden_states": normal(TOKENS, 4),
        "context_latents": normal(TOKENS, 8),
        "timestep": TIMES,
        "timestep_r": TIMES / 2,
        "encoder_hidden_states": normal(TOKENS, WIDTH),
    },
    "LongCatAudioDiTTransformer": {
        "hidden_states": normal(2 * TOKENS, 8),
        "encoder_attention_mask": PADDED,
        "timestep": TIMES,
        "latent_cond": normal(2 * TOKENS, 8),
    },
    "MiniMaxMusic3RVQDepthDecoder": {"inputs_embeds": normal(TOKENS, WIDTH)},
    "MiniMaxMusic3Transformer1DModel": {
        "timestep": TIMES,
        "encoder_hidden_states": normal(32, WIDTH),
    },
    "StableAudio3DiTModel": {
        "timestep": TIMES,
        "encoder_attention_mask": PADDED,
        "global_hidden_states": normal(WIDTH),
        "local_add_cond": normal(9, 32),
    },
    "StableAudioDiTModel": {
        "timestep": STEPS,
        "global_hidden_states": normal(1, WIDTH),
        "encoder_attention_mask": PADDED,
    },
    "T5FilmDecoder": {
        "encodings_and_masks": lambda model: [(torch.randn(BATCH, TOKENS, WIDTH), PADDED.long())],
        "decoder_input_tokens": normal(TOKENS, 8),
        "decoder_noise_time": TIMES,
    },
}
