"""What reduction by name does not get right, per model type: data only."""

from __future__ import annotations

from typing import Any

# Fields of a configuration, wherever that configuration occurs.
FIELDS: dict[str, dict[str, Any]] = {
    "blt": {"num_hidden_layers": 2, "encoder_hash_byte_group_size": [3, 4], "encoder_hash_byte_group_vocab": 64},
    "cohere_compass_text": {"layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}, "full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0}, "ffn_config": {"ffn_hidden_size": 32, "moe_top_k": 2}},
    "gemma3n_vision": {"architecture": "mobilenetv4_conv_small_035", "hidden_size": 448},
    "qwen4_exp_text": {"indexer_budget": 8, "indexer_compress_ratio": 2},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "bamba": {"attn_layer_indices": [1]},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "dory": {"n_input_layers": 1, "n_output_layers": 1, "n_recurrent_layers": 1, "num_hidden_layers": 3,
             "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "gemma3n_text": {"num_kv_shared_layers": 2, "num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2, "hidden_size_per_layer_input": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "hunyuan_v1_dense": {"head_dim": 8},
    "hunyuan_v1_moe": {"head_dim": 8},
    "jamba": {"attn_layer_offset": 1, "attn_layer_period": 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"head_dim": 16},
    "ministral": {"head_dim": 8},
    "nemotron": {"num_key_value_heads": 2},
    "reformer": {"is_decoder": True, "attn_layers": ["local", "lsh"], "axial_pos_embds": False, "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_buckets": 2},
    "xlstm": {"hidden_size": 128, "num_heads": 2},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 4, "layers_block_type": ["linear_attention", "hybrid"] * 2},
}  # fmt: skip

# Arguments of forward, beside or in place of those made by name; a callable gets the model, and
# None removes one.
INPUTS: dict[str, dict[str, Any]] = {
    "git": {"pixel_values": lambda model: image(model)},
}

# Model types that the library does not run on any device, with the reason.
REFUSED: dict[str, str] = {}
