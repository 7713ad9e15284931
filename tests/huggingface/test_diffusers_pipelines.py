"""Diffusers' pipelines paint on the device what they paint on the CPU."""

import pytest
import torch
from roundings import close

import torch_neuronx

diffusers = pytest.importorskip("diffusers")
import tiny_diffusion  # noqa: E402

STEPS = 3


def image(pipeline, **options):
    """Of random numbers drawn on the CPU, so that they are the same for every device."""
    pipeline.set_progress_bar_config(disable=True)
    return pipeline(
        num_inference_steps=STEPS,
        generator=torch.Generator().manual_seed(0),
        output_type="pt",
        **options,
    ).images


def prompted(pipeline):
    return image(pipeline, prompt="red one", height=16, width=16, guidance_scale=3.0)


@pytest.fixture(scope="module")
def painting():
    return prompted(tiny_diffusion.text_to_image())


def agrees(got, want):
    # Guidance takes 3 times the difference of two noises, and its error with it.
    close(got, want, STEPS * 3 * 2 * tiny_diffusion.UNET_TERMS)
    assert want.std() > 0.01


def test_text_to_image(painting):
    with torch_neuronx.no_fallback():
        pipeline = tiny_diffusion.text_to_image().to("neuron")
        assert pipeline.device.type == "neuron"
        got = prompted(pipeline)
        assert got.device.type == "neuron"
        agrees(got, painting)
        pipeline.enable_attention_slicing()
        agrees(prompted(pipeline), painting)


def test_parts_that_wait_on_the_host_are_brought_to_the_device(painting):
    pipeline = tiny_diffusion.text_to_image()
    with torch_neuronx.no_fallback():
        pipeline.enable_model_cpu_offload(device="neuron")
        agrees(prompted(pipeline), painting)
    assert pipeline.unet.device.type == "cpu"


def test_a_diffusion_transformer():
    want = image(tiny_diffusion.diffusion_transformer(), class_labels=[1, 2], guidance_scale=2.0)
    with torch_neuronx.no_fallback():
        pipeline = tiny_diffusion.diffusion_transformer().to("neuron")
        got = image(pipeline, class_labels=[1, 2], guidance_scale=2.0)
    agrees(got, want)


def test_a_transformer_of_text_and_image():
    options = {"prompt": "red one", "height": 16, "width": 16, "max_sequence_length": 8}
    want = image(tiny_diffusion.flux(), **options)
    with torch_neuronx.no_fallback():
        got = image(tiny_diffusion.flux().to("neuron"), **options)
    agrees(got, want)
