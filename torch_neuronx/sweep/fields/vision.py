"""Fields of configurations of models that see: data only, see `fields`."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "depth_pro": {
        "patch_size": 32,
        "intermediate_hook_ids": [1, 0],
        "intermediate_feature_dims": [32, 32],
        "scaled_images_feature_dims": [32, 32, 16],
    },
    "donut-swin": {"image_size": 64, "window_size": 2},
    "edgetam_prompt_encoder": {"patch_size": 16},
    "edgetam_vision_model": {
        "backbone_config": {
            "architecture": "repvit_m1",
            "model_args": {
                "in_chans": 3,
                "features_only": True,
                "out_indices": [0, 1, 2, 3],
                "embed_dim": [8, 16, 24, 32],
                "depth": [1, 1, 1, 1],
            },
        },
        "backbone_channel_list": [32, 24, 16, 8],
        "backbone_feature_sizes": [[8, 8], [4, 4], [2, 2]],
    },
    "efficientloftr": {
        "stage_num_blocks": [1, 1, 1, 1],
        "out_features": [8, 8, 16, 32],
        "num_attention_heads": 8,
    },
    "exaone4_5_vision": {"window_size": 32, "fullatt_block_indexes": [1]},
    "gemma3n_vision": {"architecture": "mobilenetv4_conv_small_035", "hidden_size": 448},
    "lightglue": {"descriptor_dim": 32},
    "lw_detr": {
        "projector_scale_factors": [1.0],
        "group_detr": 2,
        "backbone_config": {"num_windows": 4, "window_block_indices": [0], "out_indices": [1, 2]},
    },
    "pp_doclayout_v3": {"x4_feat_dim": 8},
    "rf_detr": {
        "group_detr": 2,
        "backbone_config": {"model_type": "rf_detr_dinov2", "out_indices": [1, 2]},
    },
    "sam2_hiera_det_model": {
        "blocks_per_stage": [1, 1, 1, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "hidden_size": 8,
        "image_size": [64, 64],
        "num_attention_heads_per_stage": [1, 2, 4, 4],
        "window_size_per_stage": [4, 4, 2, 2],
        "global_attention_blocks": [2],
    },
    "sam2_vision_model": {
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
    },
    "swin": {"image_size": 64, "window_size": 2},
}
