"""What making arguments by name does not get right, per model type of Transformers: data only."""

from __future__ import annotations

from typing import Any

import torch

# Model types that cannot be differentiated in evaluation mode; there is no dropout in either.
TRAINED = {"reformer", "rwkv"}

# Arguments of forward that `inputs` makes by their names although nothing requires them.
ALSO: dict[str, tuple[str, ...]] = {
    "autoformer": ("past_observed_mask", "future_values", "future_time_features"),
    "git": ("pixel_values",),
    "informer": ("past_observed_mask", "future_values", "future_time_features"),
    "kosmos-2": ("input_ids", "image_embeds_position_mask"),
    "lxmert": ("visual_feats", "visual_pos"),
    "time_series_transformer": ("future_values", "future_time_features"),
}

# Model types that generate only as the assistant of another.
ASSISTANTS = {"gemma4_assistant", "gemma4_unified_assistant"}

# Arguments of forward in place of those made by name; a callable gets the model, and None removes
# one.
INPUTS: dict[str, dict[str, Any]] = {
    "blip-2": {"input_ids": lambda model: captions(model)},
    "blip_2_qformer": {
        "encoder_hidden_states": lambda model: torch.randn(2, 4, model.config.encoder_hidden_size)
    },
    "clap": {"input_features": lambda model: torch.randn(2, 1, 64, 32)},
    "clap_audio_model": {"input_features": lambda model: torch.randn(2, 1, 64, 32)},
    "decision_transformer": {
        "states": torch.randn(2, 8, 17),
        "actions": torch.randn(2, 8, 4),
        "rewards": torch.randn(2, 8, 1),
        "returns_to_go": torch.randn(2, 8, 1),
        "timesteps": torch.arange(8).expand(2, 8),
    },
    "depth_pro": {"pixel_values": torch.randn(2, 3, 128, 128)},
    "dia": {"decoder_input_ids": torch.randint(64, 128, (2, 8, 9))},
    "efficientloftr": {"pixel_values": torch.randn(2, 2, 3, 64, 64)},
    "gemma3n_audio": {
        "audio_mel": lambda model: torch.randn(2, 64, model.config.input_feat_size),
        "audio_mel_mask": torch.zeros(2, 64, dtype=torch.bool),
    },
    "gemma4_assistant": {
        "input_ids": None,
        "inputs_embeds": lambda model: drafts(model),
        "position_ids": torch.full((2, 1), 7),
        "shared_kv_states": lambda model: shared_states(model),
    },
    "gemma4_audio": {
        "input_features": lambda model: torch.randn(
            2, 64, model.config.subsampling_conv_channels[0]
        ),
        "attention_mask": None,
    },
    "gemma4_unified_assistant": {
        "input_ids": None,
        "inputs_embeds": lambda model: drafts(model),
        "position_ids": torch.full((2, 1), 7),
        "shared_kv_states": lambda model: shared_states(model),
    },
    "gemma4_vision": {
        "pixel_values": lambda model: torch.rand(2, 36, 3 * model.config.patch_size**2),
        "pixel_position_ids": lambda model: torch.cartesian_prod(
            torch.arange(6), torch.arange(6)
        ).expand(2, 36, 2),
    },
    "idefics": {
        "pixel_values": torch.randn(2, 1, 3, 32, 32),
        "image_attention_mask": torch.ones(2, 8, 1, dtype=torch.int64),
    },
    "inkling2_vision": {
        "pixel_values": lambda model: torch.randn(
            32, *[model.config.patch_size * model.config.spatial_merge_size] * 2, 3
        ),
    },
    "instructblip": {"input_ids": lambda model: captions(model)},
    "instructblipvideo": {
        "input_ids": lambda model: captions(model),
        "pixel_values": torch.randn(2, 4, 3, 32, 32),
    },
    "kosmos-2": {"image_embeds_position_mask": torch.arange(8).repeat(2, 1).sub(2).abs() < 2},
    "kyutai_speech_to_text": {"input_ids": torch.randint(48, 128, (2, 8, 5))},
    "lightglue": {"pixel_values": torch.rand(2, 2, 3, 32, 32)},
    "lxmert": {
        "visual_feats": lambda model: torch.randn(2, 4, model.config.visual_feat_dim),
        "visual_pos": torch.rand(2, 4, 4),
    },
    "mimi_decoder": {"latents": torch.randn(2, 32, 8)},
    "minicpm_ocr_vision": {
        "pixel_values": torch.randn(1, 3, 8, 256),
        "target_sizes": torch.tensor([[4, 4]] * 2),
    },
    "minicpmv4_7_vision": {
        "pixel_values": torch.randn(1, 3, 8, 256),
        "target_sizes": torch.tensor([[4, 4]] * 2),
    },
    "muse_glimmer_assistant": {
        "noise_embeds": torch.randn(2, 8, 32),
        "context_hidden_states": torch.randn(2, 8, 64),
    },
    "musicgen_decoder": {"input_ids": lambda model: codes(model), "labels": None},
    "musicgen_melody_decoder": {"input_ids": lambda model: codes(model), "labels": None},
    "nemotron3_5_transcribe_word_timestamp": {"inputs_embeds": torch.randn(2, 8, 32)},
    "oneformer": {"task_inputs": torch.randint(0, 128, (2, 77))},
    "pocket_tts_audio_tokenizer_decoder": {"latents": torch.randn(2, 32, 8)},
    "pp_ocrv5_mobile_rec": {"pixel_values": torch.randn(2, 3, 48, 64)},
    "pp_ocrv5_server_rec": {"pixel_values": torch.randn(2, 3, 48, 64)},
    "pp_ocrv6_small_rec": {"pixel_values": torch.randn(2, 3, 48, 64)},
    "pp_ocrv6_tiny_rec": {"pixel_values": torch.randn(2, 3, 48, 64)},
    "vit_mae": {"noise": lambda model: torch.rand(2, _patches(model))},  # masks those of the least
}


def captions(model: Any) -> torch.Tensor:
    """The tokens that stand for an image, four of them, and four ordinary ones."""
    tokens = torch.randint(64, 128, (2, 8))
    tokens[:, :4] = getattr(model.config, "image_token_id", None) or model.config.video_token_id
    return tokens


def _patches(model: Any) -> int:
    """Of an image."""
    return int((model.config.image_size // model.config.patch_size) ** 2)


def codes(model: Any) -> torch.Tensor:
    """A row of tokens for each codebook of each of two samples."""
    return torch.randint(0, model.config.vocab_size, (2 * model.config.num_codebooks, 8))


def drafts(model: Any) -> torch.Tensor:
    """What an assistant gets from its model: a token's embedding beside a hidden state."""
    return torch.randn(2, 1, 2 * model.config.backbone_hidden_size)


def shared_states(model: Any) -> dict[str, tuple[torch.Tensor, ...]]:
    """Keys and values of the layers whose cache an assistant shares."""
    text = model.config.get_text_config()
    return {
        kind: tuple(torch.randn(2, layer.num_key_value_heads, 8, layer.head_dim) for _ in "kv")
        for kind, layer in zip(text.layer_types, text.per_layer_config, strict=True)
    }


# Model types that the library does not run in full on any device, with the reason.
REFUSED: dict[str, str] = {
    "bark": "it has no forward, only generate",
    "edgetam_video": "its forward takes a session, not tensors",
    "glm_image_vqmodel": "it has no forward, only encode",
    "xlstm": "its inference mode writes states in place, its training mode does not generate",
}
