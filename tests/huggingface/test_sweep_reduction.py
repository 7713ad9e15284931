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
        ("num_heads", (3, 6, 12, 24), (2, 4, 4, 4)),  # each divides its stage's width
        ("min_depth", 0.001, 0.001),
        ("intermediate_size", None, None),
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


@pytest.mark.parametrize(
    ("family", "width"),
    [
        ("glm4v_text", rules.HEAD_WIDTH),
        ("glm4v_moe_text", rules.HEAD_WIDTH // 2),  # half of a head is rotated
        ("hy_v4_vl_text", rules.HEAD_WIDTH),
        ("qwen2_vl_text", rules.HEAD_WIDTH),
    ],
)
def test_rotary_sections_are_half_of_what_is_rotated_together(transformers, family, width):
    config = reduction.configuration(transformers.CONFIG_MAPPING[family])
    assert sum(config.rope_parameters["mrope_section"]) == width // 2


def test_a_backbone_keeps_a_layer_for_each_that_is_taken(transformers):
    backbone = reduction.configuration(transformers.DepthAnythingConfig).backbone_config
    assert backbone.out_indices == [1, 2, 3, 4]
    assert backbone.num_hidden_layers == 4


def test_sizes_of_stages_are_lists_as_in_a_file(transformers):
    assert isinstance(reduction.configuration(transformers.ConvNextConfig).hidden_sizes, list)


def test_a_nested_configuration_may_be_of_another_type(transformers):
    config = reduction.configuration(transformers.CONFIG_MAPPING["pp_ocrv6_small_rec"])
    assert config.backbone_config.model_type == "pp_lcnet_v4"
