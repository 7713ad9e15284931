"""What reduction by name does not get right in Diffusers' other transformers: data only.

Those of audio, of molecules, and of several modalities in one sequence. FIELDS: arguments of the
constructor. INPUTS: arguments of forward in place of those made by name; a callable gets the model,
and None removes one.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.sweep.diffusers.rules import BATCH, TOKENS, WIDTH
from torch_neuronx.sweep.diffusers.shapes import PADDED, STEPS, TIMES, integers, positions, random

FIELDS: dict[str, dict[str, Any]] = {
    "AceStepTransformer1DModel": {
        "num_hidden_layers": 2,
        "in_channels": 12,
        "audio_acoustic_hidden_dim": 4,
        "sliding_window": 2,
    },
    "Cosmos3OmniTransformer": {
        "num_hidden_layers": 2,  # for what the last layer does to the prompt is not returned
        "latent_channel": 4,
        "patch_latent_dim": 16,
        "rope_axes_dim": (2, 1, 1),
        "sound_gen": True,
        "sound_dim": 6,
        "action_gen": True,
        "action_dim": 3,
        "num_embodiment_domains": 4,
    },
    "LongCatAudioDiTTransformer": {
        "dit_dim": WIDTH,
        "dit_depth": 2,
        "dit_heads": 2,
        "dit_text_dim": WIDTH,
        "latent_dim": 8,
    },
    "MiniMaxH3Transformer3DModel": {
        "in_channels": 4,
        "audio_in_channels": 4,
        "freq_dim": WIDTH,
        "time_embed_hidden_dim": WIDTH,
        "time_embed_dim": WIDTH,
        "rope_freq_dim": 1,
    },
    "MiniMaxMusic3RVQDepthDecoder": {"audio_vocab_size": 32},
    "MiniMaxMusic3Transformer1DModel": {
        "in_channels": 8,
        "condition_dim": WIDTH,
        "rotary_dim": 4,
        "fourier_embedding_dim": WIDTH,
    },
    "RFD4ProteinaTransformer": {
        "nlayers": 2,
        "token_dim": WIDTH,
        "nheads": 2,
        "dim_cond": WIDTH,
        "pair_repr_dim": 8,
        "latent_dim": 4,
        "token_type_emb_dim": 8,
        "cath_emb_dim": 8,
        "t_emb_dim": WIDTH,
        "seq_sep_dim": 8,
        "tri_mult_c": 8,
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
        "hidden_states": random(TOKENS, 4),
        "context_latents": random(TOKENS, 8),
        "timestep": TIMES,
        "timestep_r": TIMES / 2,
        "encoder_hidden_states": random(TOKENS, WIDTH),
    },
    # One sequence: 8 tokens of text, 2 frames of 2 by 2 patches of which the first is given, 4 of
    # sound, 3 actions.
    "Cosmos3OmniTransformer": {
        "input_ids": torch.arange(2, 2 + TOKENS),
        "text_indexes": torch.arange(8),
        "position_ids": torch.arange(23).expand(3, -1),
        "und_len": 8,
        "sequence_length": 23,
        "vision_tokens": lambda model: [torch.randn(1, 4, 2, 4, 4)],
        "vision_token_shapes": [(2, 2, 2)],
        "vision_sequence_indexes": torch.arange(8, 16),
        "vision_mse_loss_indexes": torch.arange(12, 16),
        "vision_timesteps": torch.full((4,), 700.0),
        "vision_noisy_frame_indexes": [torch.tensor([1])],
        "sound_tokens": lambda model: [torch.randn(6, 4)],
        "sound_token_shapes": [(4, 1, 1)],
        "sound_sequence_indexes": torch.arange(16, 20),
        "sound_mse_loss_indexes": torch.arange(16, 20),
        "sound_timesteps": torch.full((4,), 700.0),
        "sound_noisy_frame_indexes": [torch.arange(4)],
        "action_tokens": lambda model: [torch.randn(3, 3)],
        "action_token_shapes": [(3, 1, 1)],
        "action_sequence_indexes": torch.arange(20, 23),
        "action_mse_loss_indexes": torch.arange(20, 23),
        "action_timesteps": torch.full((3,), 700.0),
        "action_noisy_frame_indexes": [torch.arange(3)],
        "action_domain_ids": [torch.tensor(2)],
    },
    "LongCatAudioDiTTransformer": {
        "hidden_states": random(2 * TOKENS, 8),
        "encoder_attention_mask": PADDED,
        "timestep": TIMES,
        "latent_cond": random(2 * TOKENS, 8),
    },
    "MiniMaxH3Transformer3DModel": {
        "hidden_states": random(8, 16),
        "audio_hidden_states": random(4, 4),
        "encoder_hidden_states": random(TOKENS, WIDTH),
        "timestep": TIMES,
        "timestep_indices": torch.arange(20).lt(12).long(),
        "token_tags": torch.tensor([1] * TOKENS + [0] * 8 + [2] * 4),
        "position_ids": positions(5, 2, 2),
        "video_indices": torch.arange(8, 16),
        "audio_indices": torch.arange(16, 20),
        "text_indices": torch.arange(8),
    },
    "MiniMaxMusic3RVQDepthDecoder": {"inputs_embeds": random(TOKENS, WIDTH)},
    "MiniMaxMusic3Transformer1DModel": {
        "timestep": TIMES,
        "encoder_hidden_states": random(32, WIDTH),
    },
    "RFD4ProteinaTransformer": {
        "bb_ca": random(TOKENS, 3),
        "local_latents": random(TOKENS, 4),
        "bb_ca_time": TIMES,
        "local_latents_time": TIMES,
        "padding_mask": PADDED,
        "token_type": integers(7, TOKENS),
        "atom37_mask": torch.ones(BATCH, TOKENS, 37, dtype=torch.bool),
        "conditioning": lambda model: molecules(),
    },
    "StableAudio3DiTModel": {
        "hidden_states": random(8, 32),
        "timestep": TIMES,
        "encoder_attention_mask": PADDED,
        "global_hidden_states": random(WIDTH),
        "local_add_cond": random(9, 32),
    },
    "StableAudioDiTModel": {
        "timestep": STEPS,
        "global_hidden_states": random(1, WIDTH),
        "encoder_attention_mask": PADDED,
    },
    "T5FilmDecoder": {
        "encodings_and_masks": lambda model: [(torch.randn(BATCH, TOKENS, WIDTH), PADDED.long())],
        "decoder_input_tokens": random(TOKENS, 8),
        "decoder_noise_time": TIMES,
    },
}


def molecules() -> dict[str, torch.Tensor]:
    """What is known of two molecules beside their noisy coordinates."""
    numbers = {
        f"condition_{name}_1_atom": torch.randint(0, 4, (BATCH, TOKENS, 37))
        for name in ("hbond", "pistack", "pication", "saltbridge", "hydrophobic", "metal-coord")
    }
    tokens = {
        name: torch.randint(0, 3, (BATCH, TOKENS))
        for name in ("molecule_iid", "molecule_entity_id", "condition_index-group_1_token")
    }
    return {
        **numbers,
        **tokens,
        "condition_rasa-binned_1_atom": torch.randn(BATCH, TOKENS, 37),
        "is_in_context_conditioning": ~PADDED,
        "supports_local_latent": PADDED,
        "token_bond_path_length": torch.randint(0, 8, (BATCH, TOKENS, TOKENS)),
        "bond_mask": torch.randint(0, 2, (BATCH, TOKENS, TOKENS)),
        "bond_order": torch.randint(0, 5, (BATCH, TOKENS, TOKENS)),
    }
