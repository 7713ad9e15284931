"""What making arguments by name does not get right, per model type of Transformers, or per class
where a type's classes differ: data only."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

from torch_neuronx.sweep.rules import VOCABULARY

_Maker = Callable[[Any], torch.Tensor]


def _normal(*shape: int) -> _Maker:
    return lambda model: torch.randn(*shape)


def _uniform(*shape: int) -> _Maker:
    return lambda model: torch.rand(*shape)


def _integers(low: int, high: int, shape: tuple[int, ...]) -> _Maker:
    return lambda model: torch.randint(low, high, shape)


def captions(model: Any) -> torch.Tensor:
    """The tokens that stand for an image, four of them, and four ordinary ones."""
    tokens = torch.randint(64, 128, (2, 8))
    tokens[:, :4] = getattr(model.config, "image_token_id", None) or model.config.video_token_id
    return tokens


def delayed(model: Any) -> torch.Tensor:
    """The start of each of a decoder's channels, and nothing yet as far as they are delayed."""
    config = model.config.decoder_config
    start = max(model.config.delay_pattern) + 1
    tokens = torch.full((2, start, config.num_channels), config.pad_token_id)
    tokens[:, 0] = config.bos_token_id
    return tokens


def composing(model: Any) -> Any:
    """How it generates, with a composer that it knows."""
    found = copy.deepcopy(model.generation_config)
    found.composer_to_feature_token = {"someone": 50}
    return found


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


# Model types that cannot be differentiated in evaluation mode; there is no dropout in either.
TRAINED = {"reformer", "rwkv"}

# Arguments of forward that `inputs` makes by their names although nothing requires them.
ALSO: dict[str, tuple[str, ...]] = {
    "autoformer": ("past_observed_mask", "future_values", "future_time_features"),
    "git": ("pixel_values",),
    "informer": ("past_observed_mask", "future_values", "future_time_features"),
    "kosmos-2": ("input_ids", "image_embeds_position_mask"),
    "lxmert": ("visual_feats", "visual_pos"),
    "sam3": ("input_ids",),
    "sam3_lite_text": ("input_ids",),
    "sam3_lite_text_text_model": ("input_ids",),
    "time_series_transformer": ("future_values", "future_time_features"),
}

# Model types that generate only as the assistant of another, or begin with random tokens.
NOT_GREEDY = {"diffusion_gemma", "gemma4_assistant", "gemma4_unified_assistant"}


def pi0() -> dict[str, Any]:
    """An image of one camera in front of a text."""
    return {
        "input_ids": image_and_text,
        "pixel_values": _normal(2, 1, 3, 32, 32),
        "pixel_attention_mask": torch.ones(2, 1, dtype=torch.bool),
        "attention_mask": torch.ones(2, 20, dtype=torch.int64),
    }


def image_and_text(model: Any) -> torch.Tensor:
    """16 tokens that stand for an image's patches, and 4 of text."""
    image = torch.full((2, 16), model.config.vlm_config.image_token_id)
    return torch.cat([image, torch.randint(48, 128, (2, 4))], 1)


# Arguments of generate in place of forward's; a callable gets the model, and None removes one.
GENERATION: dict[str, dict[str, Any]] = {
    "blip": {"pad_token_id": None},  # it passes one itself
    "dia": {"decoder_input_ids": delayed},
    "kyutai_speech_to_text": {
        "input_ids": None,
        "input_values": _normal(2, 1, 8 * 1920),  # 1920 samples a token
    },
    # It has no default for the first, and drops what equals the second.
    "musicgen_decoder": {"num_return_sequences": 1, "pad_token_id": VOCABULARY},
    "pop2piano": {
        "input_ids": None,
        "input_features": _normal(2, 8, 32),
        "composer": "someone",
        "generation_config": composing,
    },
    "vibevoice": {
        "attention_mask": torch.ones(2, 8, dtype=torch.int64),
        "return_dict_in_generate": True,  # or it returns the sound alone, of which there is none
    },
    "voxtral_realtime": {"input_ids": torch.tensor([[50, 51]] * 2)},  # sound for 8 tokens
}

# Arguments of forward in place of those made by name; a callable gets the model, and None removes
# one.
INPUTS: dict[str, dict[str, Any]] = {
    "LongformerForMultipleChoice": {
        "global_attention_mask": torch.zeros(2, 2, 8, dtype=torch.int64)
    },
    "LongformerForQuestionAnswering": {
        "input_ids": torch.tensor([[50, 51, 2, 2, 52, 53, 54, 2]] * 2)
    },
    "MllamaVisionModel": {
        "pixel_values": lambda model: torch.randn(2, 1, model.config.max_num_tiles, 3, 32, 32),
        "aspect_ratio_ids": torch.ones(2, 1, dtype=torch.int64),
        "aspect_ratio_mask": lambda model: torch.ones(
            2, 1, model.config.max_num_tiles, dtype=torch.int64
        ),
    },
    "NeuCodecModel": {"input_values": _normal(2, 1, 2000)},
    "PI0ForConditionalGeneration": {
        "state": lambda model: torch.randn(2, model.config.max_state_dim),
        "noise": lambda model: torch.randn(2, 4, model.config.max_action_dim),
        "timestep": _uniform(2),
        **pi0(),
    },
    "PI0Model": {"action_embeds": _normal(2, 5, 32), **pi0()},
    "PeAudioVideoEncoder": {
        "input_values": _normal(2, 1, 2000),
        "pixel_values_videos": _normal(2, 2, 3, 32, 32),
    },
    "PerceiverForImageClassificationConvProcessing": {
        "pixel_values": lambda model: torch.randn(2, 3, *2 * [model.config.image_size])
    },
    "PerceiverForImageClassificationFourier": {
        "pixel_values": lambda model: torch.randn(2, 3, *2 * [model.config.image_size])
    },
    "PerceiverForImageClassificationLearned": {
        "pixel_values": lambda model: torch.randn(2, 3, *2 * [model.config.image_size])
    },
    "PerceiverForMaskedLM": {
        "inputs": _integers(48, 128, (2, 8)),
        "labels": lambda model: torch.randint(48, 128, (2, model.config.max_position_embeddings)),
    },
    "PerceiverForOpticalFlow": {"inputs": _normal(2, 2, 27, 16, 16)},
    "PerceiverForSequenceClassification": {"inputs": _integers(48, 128, (2, 8))},
    "PerceiverModel": {"inputs": _normal(2, 8, 32)},
    "SpeechT5ForSpeechToText": {"input_values": _normal(2, 2000)},
    "SpeechT5ForTextToSpeech": {
        "decoder_input_values": lambda model: torch.randn(2, 8, model.config.num_mel_bins)
    },
    "SpeechT5Model": {
        "input_values": _normal(2, 8, 32),
        "decoder_input_values": _normal(2, 8, 32),
    },
    "SplinterForPreTraining": {
        "input_ids": lambda model: torch.tensor(
            [[50, model.config.question_token_id, 51, 52, 53, 54, 55, 56]] * 2
        ),
        **{
            name: torch.tensor([[1]] * 2)
            for name in ("question_positions", "start_positions", "end_positions")
        },
    },
    "TimesFmModelForPrediction": {
        "past_values": lambda model: [torch.randn(64), torch.randn(64)],
        "past_values_padding": None,
        "freq": [0, 1],
    },
    "VideoMAEForPreTraining": {
        "bool_masked_pos": lambda model: (
            torch.arange(model.videomae.embeddings.num_patches).repeat(2, 1) % 2 == 1
        )
    },
    "blip-2": {"input_ids": captions},
    "blip_2_qformer": {
        "encoder_hidden_states": lambda model: torch.randn(2, 4, model.config.encoder_hidden_size)
    },
    "clap": {"input_features": _normal(2, 1, 64, 32)},
    "clap_audio_model": {"input_features": _normal(2, 1, 64, 32)},
    "decision_transformer": {
        "states": _normal(2, 8, 17),
        "actions": _normal(2, 8, 4),
        "rewards": _normal(2, 8, 1),
        "returns_to_go": _normal(2, 8, 1),
        "timesteps": torch.arange(8).expand(2, 8),
    },
    "depth_pro": {"pixel_values": _normal(2, 3, 128, 128)},
    "dia": {
        "decoder_input_ids": _integers(64, 128, (2, 8, 9)),
        "labels": _integers(64, 128, (2 * 9, 8)),
    },
    "efficientloftr": {"pixel_values": _normal(2, 2, 3, 64, 64)},
    "gemma3n_audio": {
        "audio_mel": lambda model: torch.randn(2, 64, model.config.input_feat_size),
        "audio_mel_mask": torch.zeros(2, 64, dtype=torch.bool),
    },
    "gemma4_assistant": {
        "input_ids": None,
        "inputs_embeds": drafts,
        "position_ids": torch.full((2, 1), 7),
        "shared_kv_states": shared_states,
    },
    "gemma4_audio": {
        "input_features": lambda model: torch.randn(
            2, 64, model.config.subsampling_conv_channels[0]
        ),
        "attention_mask": None,
    },
    "gemma4_unified_assistant": {
        "input_ids": None,
        "inputs_embeds": drafts,
        "position_ids": torch.full((2, 1), 7),
        "shared_kv_states": shared_states,
    },
    "gemma4_vision": {
        "pixel_values": lambda model: torch.rand(2, 36, 3 * model.config.patch_size**2),
        "pixel_position_ids": lambda model: torch.cartesian_prod(
            torch.arange(6), torch.arange(6)
        ).expand(2, 36, 2),
    },
    "idefics": {
        "pixel_values": _normal(2, 1, 3, 32, 32),
        "image_attention_mask": torch.ones(2, 8, 1, dtype=torch.int64),
    },
    "inkling2_vision": {
        "pixel_values": lambda model: torch.randn(
            32, *[model.config.patch_size * model.config.spatial_merge_size] * 2, 3
        ),
    },
    "instructblip": {"input_ids": captions},
    "instructblipvideo": {
        "input_ids": captions,
        "pixel_values": _normal(2, 4, 3, 32, 32),
    },
    "jev": {  # one prompt of two questions
        "input_ids": _integers(64, 128, (1, 8)),
        "marks": torch.tensor([[4, 8]]),
        "num_options": torch.tensor([[2, 3]]),
        "question_type_ids": torch.tensor([[0, 1]]),
    },
    "kosmos-2": {"image_embeds_position_mask": torch.tensor([[0, 1, 1, 1, 1, 0, 0, 0]] * 2)},
    "kyutai_speech_to_text": {"input_ids": _integers(48, 128, (2, 8, 5))},
    "lightglue": {"pixel_values": _uniform(2, 2, 3, 32, 32)},
    "lxmert": {
        "visual_feats": lambda model: torch.randn(2, 4, model.config.visual_feat_dim),
        "visual_pos": _uniform(2, 4, 4),
    },
    "mimi_decoder": {"latents": _normal(2, 32, 8)},
    "minicpm_ocr_vision": {
        "pixel_values": _normal(1, 3, 8, 256),
        "target_sizes": torch.tensor([[4, 4]] * 2),
    },
    "minicpmv4_7_vision": {
        "pixel_values": _normal(1, 3, 8, 256),
        "target_sizes": torch.tensor([[4, 4]] * 2),
    },
    "muse_glimmer_assistant": {
        "noise_embeds": _normal(2, 8, 32),
        "context_hidden_states": _normal(2, 8, 64),
        "attention_mask": torch.ones(2, 16, dtype=torch.int64),
    },
    "musicgen": {"decoder_input_ids": lambda model: codes(model.decoder), "labels": None},
    "musicgen_decoder": {"input_ids": codes, "labels": None},
    "musicgen_melody": {"decoder_input_ids": lambda model: codes(model.decoder), "labels": None},
    "musicgen_melody_decoder": {"input_ids": codes, "labels": None},
    "nemotron3_5_transcribe_word_timestamp": {"inputs_embeds": _normal(2, 8, 32)},
    "omdet-turbo": {
        "classes_input_ids": _integers(48, 128, (4, 8)),
        "classes_attention_mask": torch.ones(4, 8, dtype=torch.int64),
        "classes_structure": torch.tensor([2, 2]),
        "tasks_input_ids": _integers(48, 128, (2, 8)),
        "tasks_attention_mask": torch.ones(2, 8, dtype=torch.int64),
    },
    "omniasr_ctc": {
        "input_values": _normal(2, 1, 2000),
        "padding_mask": torch.ones(2, 2000, dtype=torch.int64),
    },
    "oneformer": {"task_inputs": _integers(0, 128, (2, 77))},
    "parakeet_ctc": {"attention_mask": torch.ones(2, 64, dtype=torch.int64)},
    "pix2struct": {
        "flattened_patches": lambda model: torch.cat(
            [
                torch.ones(2, 16, 2),
                torch.randn(2, 16, model.config.vision_config.patch_embed_hidden_size),
            ],
            -1,
        )
    },
    "pocket_tts_audio_tokenizer_decoder": {"latents": _normal(2, 32, 8)},
    "pp_doclayout_v2": {"labels": None},  # these are for inference only
    "pp_doclayout_v3": {"labels": None},
    "pp_doclayout_v4": {"labels": None},
    "pp_formulanet": {"decoder_input_ids": _integers(48, 128, (2, 8))},
    "pp_ocrv5_mobile_rec": {"pixel_values": _normal(2, 3, 96, 64)},
    "pp_ocrv5_server_rec": {"pixel_values": _normal(2, 3, 48, 64)},
    "pp_ocrv6_small_rec": {"pixel_values": _normal(2, 3, 48, 64)},
    "pp_ocrv6_tiny_rec": {"pixel_values": _normal(2, 3, 48, 64)},
    "qwen3_asr_encoder": {
        "input_features": _normal(2, 16, 100),
        "input_features_mask": torch.ones(2, 100, dtype=torch.int64),
    },
    "seggpt": {
        name: _normal(2, 3, 16, 32)
        for name in ("pixel_values", "prompt_pixel_values", "prompt_masks")
    },
    "shieldgemma2": {"labels": _integers(48, 128, (2, 8))},
    "siglip2": {
        "pixel_values": _normal(2, 16, 192),
        "pixel_attention_mask": torch.ones(2, 16, dtype=torch.int64),
        "spatial_shapes": torch.tensor([[4, 4]] * 2),
    },
    "siglip2_vision_model": {
        "pixel_values": _normal(2, 16, 192),
        "pixel_attention_mask": torch.ones(2, 16, dtype=torch.int64),
        "spatial_shapes": torch.tensor([[4, 4]] * 2),
    },
    "speech-encoder-decoder": {"input_values": _normal(2, 2000)},
    "superglue": {"pixel_values": _uniform(2, 2, 3, 32, 32)},
    "timesfm": {
        "past_values": _normal(2, 64),
        "past_values_padding": torch.zeros(2, 64, dtype=torch.int64),
        "freq": torch.tensor([[0], [1]]),
    },
    "timesfm2_5": {"past_values": _normal(2, 64)},
    "tvp": {
        "input_ids": _integers(48, 128, (1, 8)),
        "attention_mask": torch.ones(1, 8, dtype=torch.int64),
        "pixel_values": _normal(1, 4, 3, 64, 64),
    },
    "uvdoc": {"pixel_values": _normal(2, 3, 64, 64)},
    "vibevoice_acoustic_tokenizer": {"input_values": _normal(2, 1, 3200)},
    "vibevoice_acoustic_tokenizer_decoder": {"hidden_states": _normal(2, 32, 8)},
    "vibevoice_acoustic_tokenizer_encoder": {"hidden_states": _normal(2, 1, 3200)},
    "video_llama_3_vision": {"merge_sizes": torch.tensor([2, 2])},
    "vit_mae": {"noise": _uniform(2, 16)},  # masks those of the least
    "xcodec2": {"input_values": _normal(2, 1, 2000), "input_features": _normal(2, 6, 32)},
}


# Model types that the library does not run in full on any device, with the reason.
REFUSED: dict[str, str] = {
    "Llama4ForConditionalGeneration": "it reads an output that its text model does not return",
    "bark": "it has no forward, only generate",
    "edgetam_video": "its forward takes a session, not tensors",
    "glm_image_vqmodel": "it has no forward, only encode",
    "qwen2_5_omni": "it has no forward: generate alone runs its parts",
    "qwen3_omni_moe": "it has no forward: generate alone runs its parts",
    "sam2_video": "its forward takes a session of the library's, not tensors",
    "sam3_tracker_video": "its forward takes a session of the library's, not tensors",
    "sam3_video": "its forward takes a session of the library's, not tensors",
    "voxtral_realtime_text": "listed, but not exported by the library",
    "xlstm": "its inference mode writes states in place, its training mode does not generate",
}
