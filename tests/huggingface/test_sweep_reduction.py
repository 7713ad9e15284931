"""Configurations are reduced by the names of their fields, and what belongs together stays so."""

import pytest
import torch

from torch_neuronx.sweep import reduction, rules


@pytest.fixture(scope="module")
def transformers():
    from torch_neuronx.sweep import libraries

    return libraries.load("transformers")


@pytest.mark.parametrize(
    ("name", "default", "reduced"),
    [
        ("hidden_size", 4096, rules.WIDTH),
        ("num_hidden_layers", 48, rules.LAYERS),
        ("num_hidden_layers", 1, 1),
        ("attention_dropout", 0.1, 0.0),
        ("depths", (3, 3, 9, 3), (1, 1, 1, 1)),
        ("hidden_sizes", [64, 128, 320], [8, 8, 16]),
        ("intermediate_size", None, None),
        ("num_heads", [3, 6, 12, 24], [2, 4, 4, 4]),
        ("head_dim", 0, 0),
        ("rms_norm_eps", 1e-6, 1e-6),
        ("use_cache", True, True),
    ],
)
def test_rules(name, default, reduced):
    got = rules.reduced(name, default)
    assert got == reduced
    assert type(got) is type(default)


def test_a_model_is_small_and_runs(transformers):
    config = reduction.configuration(transformers.LlamaConfig)
    model = transformers.LlamaForCausalLM(config)
    assert sum(p.numel() for p in model.parameters()) < 100_000
    assert model(input_ids=torch.tensor([[50, 60]])).logits.shape == (1, 2, config.vocab_size)


def test_nested_configurations_are_reduced(transformers):
    config = reduction.configuration(transformers.CLIPConfig)
    for nested in (config.text_config, config.vision_config):
        assert (nested.hidden_size, nested.num_hidden_layers) == (rules.WIDTH, rules.LAYERS)


def test_every_kind_of_layer_remains(transformers):
    config_class = transformers.CONFIG_MAPPING["qwen3_next"]
    whole, small = config_class(), reduction.configuration(config_class)
    assert set(small.layer_types) == set(whole.layer_types)
    assert small.num_hidden_layers == len(small.layer_types) < len(whole.layer_types)


def test_special_tokens_are_distinct_and_in_the_vocabulary(transformers):
    config = reduction.configuration(transformers.CONFIG_MAPPING["qwen2_vl"])
    tokens = [config.image_token_id, config.video_token_id, config.vision_start_token_id]
    assert len(set(tokens)) == len(tokens)
    assert max(tokens) < reduction.SPECIAL < config.text_config.vocab_size


def test_sections_of_rotary_positions_are_half_of_a_head(transformers):
    config = reduction.configuration(transformers.CONFIG_MAPPING["qwen2_vl_text"])
    width = config.hidden_size // config.num_attention_heads
    assert sum(config.rope_parameters["mrope_section"]) == width // 2


def test_a_backbone_has_the_layers_that_are_taken(transformers):
    backbone = reduction.configuration(transformers.CONFIG_MAPPING["lw_detr"]).backbone_config
    assert backbone.out_indices == list(range(1, backbone.num_hidden_layers + 1))


def test_a_nested_configuration_may_be_of_another_type(transformers):
    config = reduction.configuration(transformers.CONFIG_MAPPING["pp_ocrv6_small_rec"])
    assert config.backbone_config.model_type == "pp_lcnet_v4"
