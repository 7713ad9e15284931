"""Fields of configurations of models that see: data only, see `fields`."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
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
}
