"""Diffusers' transformers are made small, and called with what they want, from data."""

import pytest
import torch

from torch_neuronx.sweep import causes, diffusers, subject
from torch_neuronx.sweep.comparison import is_finite, tensors
from torch_neuronx.sweep.diffusers.rules import rule


@pytest.fixture(scope="module")
def architectures():
    return {found.model: found for found in diffusers.architectures()}


@pytest.mark.parametrize(
    "name",
    [
        "Cosmos3OmniTransformer",  # several modalities in one sequence
        "Flux2Transformer2DModel",  # positions along four axes
        "LTX2VideoTransformer3DModel",  # video beside audio
        "NucleusMoEImageTransformer2DModel",  # parameters that its constructor does not initialise
        "ZImageTransformer2DModel",  # lists of tensors
    ],
)
def test_a_model_is_small_and_runs(architectures, name):
    small = subject.build(architectures[name])
    assert sum(p.numel() for p in small.model.parameters()) < 500_000
    output = small.forward()
    assert is_finite(tensors(output))
    gradients = small.gradients(output)
    assert gradients
    assert is_finite(gradients)


def test_a_model_is_the_same_each_time(architectures):
    first, second = (
        subject.build(architectures["NucleusMoEImageTransformer2DModel"]) for _ in range(2)
    )
    for name, parameter in first.model.state_dict().items():
        assert torch.equal(parameter, second.model.state_dict()[name]), name


@pytest.mark.parametrize("axes", [(64, 64), (16, 56, 56), [32, 32, 32, 32]])
def test_axes_of_rotary_embeddings_share_a_small_head(axes):
    reduced = rule("axes_dims_rope", axes)
    assert (type(reduced), len(reduced)) == (type(axes), len(axes))
    assert sum(reduced) == rule("attention_head_dim", 128)


def test_data_is_of_classes_that_there_are(architectures):
    for table in (diffusers.FIELDS, diffusers.INPUTS, diffusers.REFUSED):
        assert not set(table) - set(architectures)


def test_what_the_cpu_cannot_do_is_not_the_reductions_fault(architectures):
    assert causes.of_reference(architectures["Flux2Transformer2DModel"]) == causes.CONFIGURATION
    for name in diffusers.REFUSED:
        assert causes.of_reference(architectures[name]) == causes.LIBRARY
