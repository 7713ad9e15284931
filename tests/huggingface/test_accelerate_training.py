"""Accelerate picks the device by itself, and its training loop gives the CPU's losses."""

import contextlib
import functools

import pytest
import torch
from accelerate_state import forget
from roundings import close

import torch_neuronx

accelerate = pytest.importorskip("accelerate")
from accelerate import Accelerator  # noqa: E402
from accelerate.state import PartialState  # noqa: E402

FEATURES, HIDDEN, CLASSES, ROWS = 8, 32, 3, 22
STEPS = 6  # batches of 4, the last one of 2


def data():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(ROWS, FEATURES, generator=generator)
    return torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long())


def parts():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, CLASSES)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(data(), batch_size=4)
    return model, optimizer, loader, torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)


def clip(accelerator, model, optimizer):
    return accelerator.clip_grad_norm_(model.parameters(), 1.0)


def train(accelerator, clip=clip, forward=contextlib.nullcontext):
    """Losses and norms of gradients of one epoch, the labels gathered, the last learning rate."""
    model, optimizer, loader, scheduler = accelerator.prepare(*parts())
    losses, norms, seen = [], [], []
    for x, y in loader:
        assert x.device.type == accelerator.device.type
        with accelerator.accumulate(model):
            with forward():
                loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norms.append(clip(accelerator, model, optimizer).item())
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(loss.item())
        seen.append(accelerator.gather_for_metrics(y))
    return losses, norms, torch.cat(seen), scheduler.get_last_lr()


def test_the_device_is_found():
    assert Accelerator().device.type == "neuron"
    assert PartialState().default_device.type == "neuron"


@pytest.mark.parametrize("precision", ["no", "bf16"])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_prepared_loop_gives_the_losses_of_the_cpu(precision, accumulation):
    options = {"mixed_precision": precision, "gradient_accumulation_steps": accumulation}
    wants = train(Accelerator(cpu=True, **options))
    forget()
    with torch_neuronx.no_fallback():
        gots = train(Accelerator(**options))
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    # In bfloat16 each of the 2 layers rounds its inputs, weights and results, forward and backward;
    # in float32 what is added is longer than that.
    terms = 2 * 3 if precision == "bf16" else STEPS * 2 * (FEATURES + HIDDEN)
    for got, want in zip(gots[0] + gots[1], wants[0] + wants[1], strict=True):
        close(got, want, terms, dtype)
    assert gots[2].device.type == "neuron"
    assert gots[2].tolist() == wants[2].tolist() == data().tensors[1].tolist()
    assert gots[3] == wants[3]


def test_float16_is_refused_by_a_list_of_accelerates_own():
    """Where this fails, Accelerate has learnt it, and docs/huggingface.md has a line too many."""
    with pytest.raises(ValueError, match="fp16 mixed precision requires a device in"):
        Accelerator(mixed_precision="fp16")


def unscale_and_clip(accelerator, model, optimizer):
    accelerator.scaler.unscale_(optimizer.optimizer)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def scaled(init_scale):
    accelerator = Accelerator()
    accelerator.scaler = torch.amp.GradScaler("neuron", init_scale=init_scale)
    autocast = functools.partial(torch.autocast, "neuron", torch.float16)
    with torch_neuronx.no_fallback():
        losses = train(accelerator, unscale_and_clip, autocast)[0]
    return losses, accelerator.scaler.get_scale()


def test_float16_with_a_scaler_of_ones_own():
    wants = train(Accelerator(cpu=True))[0]
    forget()
    losses, scale = scaled(2.0**10)
    for got, want in zip(losses, wants, strict=True):
        close(got, want, STEPS * 2 * 3, torch.float16)  # three roundings a layer and step
    assert scale == 2.0**10


def test_steps_that_overflow_in_float16_are_skipped():
    losses, scale = scaled(2.0**40)
    assert scale == 2.0 ** (40 - STEPS)
    batches = data().tensors
    model = parts()[0]  # as it was: no step was taken
    for i, got in enumerate(losses):
        x, y = (tensor[4 * i : 4 * i + 4] for tensor in batches)
        want = torch.nn.functional.cross_entropy(model(x), y)
        close(got, want, 2 * 3, torch.float16)
