"""Fields of configurations of models that see: data only, see `fields`."""

from __future__ import annotations

from typing import Any

# Convolutions by [kernel, stride, padding].
_STRIPS = {
    "horizontal_small_to_long_conv_longratio": [[1, 7], [1, 1], [0, 3]],
    "horizontal_small_to_long_conv_midratio": [[1, 5], [1, 1], [0, 2]],
    "horizontal_small_to_long_conv_shortratio": [[1, 3], [1, 1], [0, 1]],
    "reduce_channel": [1, 1, 0],
    "return_channel": [1, 1, 0],
    "symmetric_conv_long_longratio": [[7, 7], [1, 1], [3, 3]],
    "symmetric_conv_long_midratio": [[5, 5], [1, 1], [2, 2]],
    "symmetric_conv_long_shortratio": [[3, 3], [1, 1], [1, 1]],
    "vertical_long_to_small_conv_longratio": [[7, 1], [1, 1], [3, 0]],
    "vertical_long_to_small_conv_midratio": [[5, 1], [1, 1], [2, 0]],
    "vertical_long_to_small_conv_shortratio": [[3, 1], [1, 1], [1, 0]],
}

_DETECTOR = {
    "intraclass_block_config": _STRIPS,
    "kernel_list": [3, 2, 2],
    "neck_out_channels": 32,
    "scale_factor_list": [1, 2, 4, 8],
}

# Its stages, of which two model types have their own copy.
EFFICIENTNET = {
    "in_channels": [32, 16, 24, 40, 80, 112, 192],
    "out_channels": [16, 24, 40, 80, 112, 192, 320],
    "width_coefficient": 0.125,
    "depth_coefficient": 0.1,
}

FIELDS: dict[str, dict[str, Any]] = {
    "beit": {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]},
    "chmv2": {"post_process_channels": [8, 16, 32, 32]},
    "cvt": {"depth": [1, 2, 3]},
    "data2vec-vision": {"num_hidden_layers": 4, "out_indices": [0, 1, 2, 3]},
    "depth_pro": {
        "patch_size": 32,
        "intermediate_hook_ids": [1, 0],
        "intermediate_feature_dims": [32, 32],
        "scaled_images_feature_dims": [32, 32, 16],
    },
    "detr": {
        "encoder_attention_heads": 8,
        "decoder_attention_heads": 8,
        "backbone_config": {"out_features": ["stage1", "stage2", "stage3", "stage4"]},
    },
    "dinov3_convnext": {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]},
    "donut-swin": {"image_size": 64, "window_size": 2},
    "dpt": {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]},
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
        "fine_matching_slice_dim": 4,
    },
    "efficientnet": {**EFFICIENTNET, "hidden_dim": 160},
    "exaone4_5_vision": {"window_size": 32, "fullatt_block_indexes": [1]},
    "gemma3n_vision": {"architecture": "mobilenetv4_conv_small_035", "hidden_size": 448},
    "hiera": {"decoder_hidden_size": 32, "decoder_depth": 1, "decoder_num_heads": 4},
    "lightglue": {"descriptor_dim": 32},
    "llama4_vision_model": {"intermediate_size": 128},
    "lw_detr": {
        "projector_scale_factors": [1.0],
        "group_detr": 2,
        "backbone_config": {"num_windows": 4},
    },
    "mask2former": {"feature_size": 32},
    "mllama_vision_model": {"intermediate_layers_indices": [0, 1], "vision_output_dim": 96},
    "pp_doclayout_v2": {"class_thresholds": [0.5, 0.5], "class_order": [0, 1]},
    "pp_doclayout_v3": {"x4_feat_dim": 8},
    "pp_ocrv5_server_det": _DETECTOR,
    "pp_ocrv6_medium_det": _DETECTOR,
    "pp_ocrv6_small_det": {"layer_list_out_channels": [48, 96, 192, 384], "neck_out_channels": 32},
    "pp_ocrv6_small_rec": {"backbone_config": {"model_type": "pp_lcnet_v4"}},
    "pp_ocrv6_tiny_rec": {"backbone_config": {"model_type": "pp_lcnet_v4"}},
    "rf_detr": {
        "group_detr": 2,
        "backbone_config": {"model_type": "rf_detr_dinov2", "out_indices": [1, 2]},
    },
    "sam2_hiera_det_model": {
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "hidden_size": 8,
        "image_size": [32, 32],
        "num_attention_heads_per_stage": [1, 2, 4, 4],
        "window_size_per_stage": [4, 2, 4, 2],
        "global_attention_blocks": [3],
    },
    "sam2_prompt_encoder": {"patch_size": 16},
    "sam2_vision_model": {
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[8, 8], [4, 4], [2, 2]],
    },
    "sam3_tracker": {"vision_config": {"backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]]}},
    "sapiens2": {
        "head_config": {
            "upsample_out_channels": [8, 8],
            "upsample_kernel_sizes": [4, 4],
            "conv_out_channels": [8],
            "conv_kernel_sizes": [1],
            "scale_conv_out_channels": [8],
            "scale_conv_kernel_sizes": [1],
            "scale_final_hidden_sizes": [8, 8],
        }
    },
    "seggpt": {"intermediate_hidden_state_indices": [0, 1], "merge_index": 0},
    "superpoint": {"keypoint_decoder_dim": 65},
    "swin": {"image_size": 64, "window_size": 2},
    "timm_backbone": {"backbone": "test_resnet"},
    "timm_wrapper": {"architecture": "test_resnet"},
    "tvp": {"visual_prompt_size": 4, "max_img_size": 64},
    "uvdoc": {"backbone_config": {"out_features": [f"stage{n}" for n in range(1, 7)]}},
    "uvdoc_backbone": {"resnet_head": [[3, 32], [32, 32]]},
    "vitmatte": {
        "backbone_config": {"patch_size": 16},
        "fusion_hidden_sizes": [16, 8, 8, 4],
        "convstream_hidden_sizes": [8, 8, 16],
    },
    "zoedepth": {"bottleneck_features": 32},
}
