"""What reduction by name does not get right, per model type: data only."""

from __future__ import annotations

from typing import Any

import torch

_DEFAULT_ROPE = {"rope_type": "default", "rope_theta": 10000.0}

# Fields of a configuration, wherever that configuration occurs. A dict for one that is nested says
# what else is known of it.
FIELDS: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blt": {
        "num_hidden_layers": 2,
        "encoder_hash_byte_group_size": [3, 4],
        "encoder_hash_byte_group_vocab": 64,
    },
    "blt_local_decoder": {"hidden_size_global": 32},
    "blt_local_encoder": {"hidden_size_global": 32},
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {
            "sliding_attention": _DEFAULT_ROPE,
            "full_attention": _DEFAULT_ROPE,
        },
    },
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 32, "moe_top_k": 2},
    },
    "deepseek_v2": {"num_experts_per_tok": 2},
    "dory": {
        "num_hidden_layers": 3,
        "n_input_layers": 1,
        "n_recurrent_layers": 1,
        "n_output_layers": 1,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "gemma3n_text": {
        "num_hidden_layers": 4,
        "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "hidden_size_per_layer_input": 8,
    },
    "gemma3n_vision": {"architecture": "mobilenetv4_conv_small_035", "hidden_size": 448},
    "gemma4_assistant": {
        "text_config": {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "hunyuan_v1_dense": {"head_dim": 8},
    "hunyuan_v1_moe": {"head_dim": 8},
    "jamba": {"attn_layer_offset": 1, "attn_layer_period": 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"head_dim": 16},
    "ministral": {"head_dim": 8},
    "nemotron": {"num_key_value_heads": 2},
    "qwen4_exp_text": {
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": 8,
        "indexer_compress_ratio": 2,
    },
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "reformer": {
        "is_decoder": True,
        "attn_layers": ["local", "local"],  # hashing is random
        "axial_pos_embds": False,
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
        "num_buckets": 2,
    },
    "xlstm": {"hidden_size": 128, "num_heads": 2, "mode": "train"},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 4, "layers_block_type": ["linear_attention", "hybrid"] * 2},
}

# Model types that cannot be differentiated in evaluation mode; there is no dropout in either.
TRAINED = {"reformer", "rwkv", "xlstm"}

# Arguments of forward that `inputs` makes by their names although nothing requires them.
ALSO: dict[str, tuple[str, ...]] = {
    "git": ("pixel_values",),
}

# Model types that generate only as the assistant of another.
ASSISTANTS = {"gemma4_assistant", "gemma4_unified_assistant"}

# Arguments of forward in place of those made by name; a callable gets the model, and None removes
# one.
INPUTS: dict[str, dict[str, Any]] = {
    "gemma4_assistant": {
        "input_ids": None,
        "inputs_embeds": lambda model: drafts(model),
        "position_ids": torch.full((2, 1), 7),
        "shared_kv_states": lambda model: shared_states(model),
    },
    "gemma4_unified_assistant": {
        "input_ids": None,
        "inputs_embeds": lambda model: drafts(model),
        "position_ids": torch.full((2, 1), 7),
        "shared_kv_states": lambda model: shared_states(model),
    },
    "musicgen_decoder": {"input_ids": lambda model: codes(model), "labels": None},
    "musicgen_melody_decoder": {"input_ids": lambda model: codes(model), "labels": None},
}


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


# Model types that the library does not run on any device, with the reason.
REFUSED: dict[str, str] = {}
