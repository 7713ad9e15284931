"""Fields of configurations of models that see: data only, see `fields`."""

from __future__ import annotations

from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "gemma3n_vision": {"architecture": "mobilenetv4_conv_small_035", "hidden_size": 448},
    "lightglue": {"descriptor_dim": 32},
    "lw_detr": {
        "projector_scale_factors": [1.0],
        "group_detr": 2,
        "backbone_config": {"num_windows": 4},
    },
    "pp_doclayout_v3": {"x4_feat_dim": 8},
    "pp_ocrv6_small_det": {"layer_list_out_channels": [48, 96, 192, 384]},
    "rf_detr": {
        "group_detr": 2,
        "backbone_config": {"model_type": "rf_detr_dinov2", "out_indices": [1, 2]},
    },
    "sam2_hiera_det_model": {
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "hidden_size": 8,
        "image_size": [64, 64],
        "num_attention_heads_per_stage": [1, 2, 4, 4],
        "window_size_per_stage": [4, 2, 4, 2],
        "global_attention_blocks": [3],
    },
    "sam2_vision_model": {
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
    },
    "sam3_tracker": {"vision_config": {"backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]]}},
    "superpoint": {"keypoint_decoder_dim": 65},
    "swin": {"image_size": 64, "window_size": 2},
    "timm_backbone": {"backbone": "test_resnet"},
    "timm_wrapper": {"architecture": "test_resnet"},
    "tvp": {"visual_prompt_size": 4, "max_img_size": 32},
    "vitmatte": {"fusion_hidden_sizes": [16, 8, 8, 4], "convstream_hidden_sizes": [8, 8, 16]},
}
