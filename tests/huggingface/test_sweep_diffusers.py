"""The sweep's data on Diffusers: it fits the library, and what it makes runs on the CPU."""

import inspect

import pytest
import torch

from torch_neuronx.sweep import causes, libraries
from torch_neuronx.sweep import diffusers as models
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.diffusers.rules import rule
from torch_neuronx.sweep.subject import Subject, build


def architecture(model):
    return Architecture("diffusers", "models", model)


@pytest.mark.parametrize("table", ["FIELDS", "INPUTS"])
def test_rows_name_arguments_that_classes_have(table):
    library = libraries.load("diffusers").models
    for name, row in getattr(models, table).items():
        model = getattr(library, name)
        known = inspect.signature(model if table == "FIELDS" else model.forward).parameters
        assert not set(row) - set(known), name


@pytest.mark.parametrize(
    "model",
    [
        "AutoencoderKLAllegro",  # prepared: it encodes in tiles only
        "AutoencoderOobleck",  # weight_norm
        "ConsistencyDecoderVAE",  # noise from a generator
        "Cosmos3OmniTransformer",  # several modalities in one sequence
        "Flux2Transformer2DModel",  # positions along four axes
        "HunyuanDiT2DControlNetModel",
        "LTX2VideoTransformer3DModel",  # video beside audio
        "NucleusMoEImageTransformer2DModel",  # parameters that its constructor does not initialise
        "StableCascadeUNet",
        "ZImageControlNetModel",  # prepared: it takes parts of a transformer
        "ZImageTransformer2DModel",  # lists of tensors
    ],
)
def test_a_model_is_small_and_has_gradients(model):
    subject = build(architecture(model))
    returned = subject.forward()
    assert sum(p.numel() for p in subject.model.parameters()) < 500_000
    gradients = subject.gradients(returned)
    assert gradients and all(bool(g.isfinite().all()) for g in gradients.values())


def test_a_model_is_the_same_each_time():
    first, second = (build(architecture("NucleusMoEImageTransformer2DModel")) for _ in range(2))
    for name, parameter in first.model.state_dict().items():
        assert torch.equal(parameter, second.model.state_dict()[name]), name


@pytest.mark.parametrize("axes", [(64, 64), (16, 56, 56), [32, 32, 32, 32]])
def test_axes_of_rotary_embeddings_share_a_small_head(axes):
    reduced = rule("axes_dims_rope", axes)
    assert (type(reduced), len(reduced)) == (type(axes), len(axes))
    assert sum(reduced) == rule("attention_head_dim", 128)


def test_a_copy_has_its_own_weights_where_weight_norm_derives_them():
    layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    subject = Subject(layer, {"input": torch.randn(4, 3)})
    want = subject.forward()
    copied = subject.on("cpu")
    copied.gradients(copied.forward())
    assert torch.equal(copied.forward(), want)
    assert layer.weight_g.grad is None


def test_a_generator_stands_where_it_stood_for_every_run():
    class Noise(torch.nn.Module):
        def forward(self, generator):
            return torch.randn(3, generator=generator)

    subject = Subject(Noise(), {"generator": torch.Generator().manual_seed(1)})
    assert torch.equal(subject.forward(), subject.forward())


def test_a_refused_model_says_why_and_is_the_librarys_cause():
    assert models.REFUSED
    for name in models.REFUSED:
        assert hasattr(libraries.load("diffusers").models, name)
        assert causes.of_reference(architecture(name)) == causes.LIBRARY
        with pytest.raises(NotImplementedError, match=models.REFUSED[name]):
            build(architecture(name))
    assert causes.of_reference(architecture("AutoencoderKL")) == causes.CONFIGURATION
