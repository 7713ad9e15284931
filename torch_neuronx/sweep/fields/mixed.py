"""Fields of configurations of models that take several kinds of input: data only, see `fields`."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "kosmos-2": {"latent_query_num": 4},
    "molmo2_adapter": {"vision_feature_layer": [1, 0]},
    "muse_glimmer_assistant": {"target_layer_ids": [0, 1]},
    "omdet-turbo": {
        "encoder_in_channels": [64, 128, 256],
        "vision_features_channels": [32, 32, 32],
    },
    "pe_video_encoder": {
        "vision_config": {
            "model_args": {"embed_dim": 32, "depth": 2, "num_heads": 4, "img_size": 32}
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
    "qwen3_omni_moe_thinker": {"vision_start_token_id": 9},
    "vision-encoder-decoder": {"pad_token_id": 0},
}
