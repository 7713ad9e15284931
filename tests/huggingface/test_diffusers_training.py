"""A UNet of Diffusers learns as on the CPU, and schedulers step on the device."""

import pytest
import torch
from roundings import close

import torch_neuronx

diffusers = pytest.importorskip("diffusers")
import tiny_diffusion  # noqa: E402

SCHEDULERS = (
    "DDPMScheduler",
    "DDIMScheduler",
    "PNDMScheduler",
    "EulerDiscreteScheduler",
    "DPMSolverMultistepScheduler",
    "UniPCMultistepScheduler",
    "LMSDiscreteScheduler",
    "FlowMatchEulerDiscreteScheduler",
)
STEPS = 4


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def learnt(device):
    """Loss and gradients of predicting the noise that was added."""
    unet = tiny_diffusion.unet().to(device).train()
    scheduler = diffusers.DDPMScheduler()
    latents, noise = numbers(2, 4, 8, 8).to(device), numbers(2, 4, 8, 8, seed=1).to(device)
    steps = torch.tensor([10, 700], device=device)
    text = numbers(2, 8, 16, seed=2).to(device)
    predicted = unet(scheduler.add_noise(latents, noise, steps), steps, text).sample
    loss = torch.nn.functional.mse_loss(predicted, noise)
    loss.backward()
    return [loss, unet.conv_out.weight.grad, unet.conv_in.weight.grad]


def test_a_training_step_of_a_unet():
    wants = learnt("cpu")
    with torch_neuronx.no_fallback():
        gots = learnt("neuron")
    for got, want in zip(gots, wants, strict=True):
        close(got, want, 2 * tiny_diffusion.UNET_TERMS)


def denoised(name, device):
    """The model is a half of what it is given; noise comes from the CPU."""
    scheduler = getattr(diffusers, name)()
    scheduler.set_timesteps(STEPS, device=device)
    sample = numbers(1, 4, 8, 8).to(device)
    generator = torch.Generator().manual_seed(0)
    takes = "generator" in scheduler.step.__code__.co_varnames
    for step in scheduler.timesteps:
        if hasattr(scheduler, "scale_model_input"):
            scaled = scheduler.scale_model_input(sample, step)
        else:
            scaled = sample
        options = {"generator": generator} if takes else {}
        sample = scheduler.step(scaled / 2, step, sample, **options).prev_sample
    return sample


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_steps_on_the_device(name):
    want = denoised(name, "cpu")
    with torch_neuronx.no_fallback():
        got = denoised(name, "neuron")
    assert got.device.type == "neuron"
    scale = want.abs().max()
    close(got.cpu() / scale, want / scale, 50 * STEPS)  # a few dozen operations a step
