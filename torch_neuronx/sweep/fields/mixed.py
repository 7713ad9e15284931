"""Fields of configurations of models that take several kinds of input: data only, see `fields`."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "apertus1p5": {
        "image_token_offset": 128,  # two codebooks follow the text's tokens
        "audio_token_offset": 256,
        "text_config": {"vocab_size": 384},
    },
    "apertus1p5_vision_tokenizer": {"base_channels": 32, "num_res_blocks": 1},
    "blip-2": {"image_token_index": 3, "num_query_tokens": 4},
    "chameleon": {"vocabulary_map": {"<image>": 3}},
    "chameleon_vqgan": {"base_channels": 32, "latent_channels": 32, "num_res_blocks": 1},
    "deepseek_ocr2_sam_vision_model": {
        "downsample_channels": [16, 32],
        "global_attn_indexes": [1],
    },
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense", "sparse"], "num_experts_per_tok": 2},
    "granite4_vision": {
        "downsample_rate": "1/2",
        "deepstack_layer_map": [[0, 0]],
        "spatial_target_layers": [1],
        "vision_config": {"hidden_size": 64},
    },
    "hunyuan_vl_text": {"head_dim": 8},
    "instructblip": {"image_token_index": 3, "num_query_tokens": 4},
    "instructblipvideo": {"video_token_index": 3, "num_query_tokens": 1},
}
