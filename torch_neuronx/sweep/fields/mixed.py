"""Fields of configurations of models that take several kinds of input: data only, see `fields`."""

from __future__ import annotations

from typing import Any

from torch_neuronx.sweep.fields.vision import EFFICIENTNET

FIELDS: dict[str, dict[str, Any]] = {
    "align": {"projection_dim": 40},
    "align_vision_model": {**EFFICIENTNET, "hidden_dim": 40},
    "apertus1p5": {
        "image_token_offset": 128,  # two codebooks follow the text's tokens
        "audio_token_offset": 256,
        "text_config": {"vocab_size": 384},
    },
    "blip-2": {
        "image_token_index": 3,
        "num_query_tokens": 4,
        "qformer_config": {"use_qformer_text_input": True},
    },
    "bridgetower": {"hidden_size": 64},
    "bridgetower_text_model": {"hidden_size": 64},
    "bridgetower_vision_model": {"hidden_size": 64},
    "chameleon": {"vocabulary_map": {"<image>": 3}},
    "deepseek_ocr2_sam_vision_model": {
        "downsample_channels": [16, 32],
        "global_attn_indexes": [1],
    },
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense", "sparse"], "num_experts_per_tok": 2},
    "emu3": {"vocabulary_map": {"<image>": 3, "<|extra_200|>": 4}},
    "fast_vlm": {"vision_config": {"architecture": "fastvit_t8", "hidden_size": 768}},
    "granite4_vision": {
        "downsample_rate": "1/2",
        "deepstack_layer_map": [[0, 0]],
        "spatial_target_layers": [1],
        "vision_config": {"hidden_size": 64},
    },
    "hunyuan_vl_text": {"head_dim": 8},
    "instructblip": {"image_token_index": 3, "num_query_tokens": 4},
    "instructblipvideo": {"video_token_index": 3, "num_query_tokens": 1},
    "kosmos-2": {"latent_query_num": 4},
    "molmo2_adapter": {"vision_feature_layer": [1, 0]},
    "muse_glimmer_assistant": {"target_layer_ids": [0, 1]},
    "neomme": {"head_dim": 16},
    "omdet-turbo": {
        "apply_layernorm_after_vision_backbone": False,
        "encoder_in_channels": [64, 128, 256],
        "class_embed_dim": 64,
        "text_config": {"hidden_size": 64},
        "text_projection_in_dim": 64,
        "text_projection_out_dim": 64,
        "vision_features_channels": [32, 32, 32],
    },
    "paddleocr_vl_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
    },
    "pe_video_encoder": {
        "vision_config": {
            "architecture": "vit_pe_core_large_patch14_336",
            "model_args": {"embed_dim": 32, "depth": 2, "num_heads": 4, "img_size": 32},
        }
    },
    "perception_lm": {
        "vision_config": {
            "architecture": "vit_pe_lang_large_patch14_448",
            "model_args": {
                "embed_dim": 32,
                "depth": 2,
                "num_heads": 4,
                "img_size": 32,
                "global_pool": "",
            },
        }
    },
    "qwen2_5_omni_thinker": {"vision_start_token_id": 9},
    "qwen2_5_vl_vision": {"window_size": 16, "fullatt_block_indexes": [1]},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 64},
    "qwen3_omni_moe_thinker": {"vision_start_token_id": 9},
    "shieldgemma2": {"yes_token_index": 90, "no_token_index": 91},
    "vision-encoder-decoder": {"pad_token_id": 0},
}
