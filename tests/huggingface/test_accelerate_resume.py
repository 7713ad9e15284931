"""A run that Accelerate resumed is the uninterrupted one, bit for bit, dropout included."""

import pytest
import torch

import torch_neuronx

accelerate = pytest.importorskip("accelerate")
from accelerate import Accelerator  # noqa: E402

STEPS, SAVED_AFTER = 6, 3


def prepared(accelerator, seed):
    accelerate.utils.set_seed(seed)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(32, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(4 * STEPS, 8, generator=torch.Generator().manual_seed(1))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    return accelerator.prepare(model, optimizer, loader, schedule)


def steps(accelerator, model, optimizer, loader, schedule, after=None):
    """Yields a loss, an input of the device's generator in it, for each batch."""
    for i, (x,) in enumerate(loader):
        noise = torch.randn(x.shape, device=x.device)
        loss = (model(x + noise) - x.sum(1, keepdim=True)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if after is not None:
            after(i + 1)
        yield loss.item()


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_save_state_and_load_state_continue_bit_for_bit(tmp_path, precision):
    accelerator = Accelerator(mixed_precision=precision)

    def save(step):
        if step == SAVED_AFTER:
            accelerator.save_state(tmp_path)

    with torch_neuronx.no_fallback():
        uninterrupted = list(steps(accelerator, *prepared(accelerator, seed=0), after=save))
        accelerator.free_memory()
        model, optimizer, loader, schedule = prepared(accelerator, seed=5)
        torch.randn(3, device="neuron")  # the generator is somewhere else, too
        accelerator.load_state(tmp_path)
        rest = accelerator.skip_first_batches(loader, SAVED_AFTER)
        resumed = list(steps(accelerator, model, optimizer, rest, schedule))
    assert resumed == uninterrupted[SAVED_AFTER:]
    assert len({*uninterrupted}) == STEPS


def test_the_state_of_the_devices_generators_is_saved(tmp_path):
    accelerator = Accelerator()
    torch.neuron.manual_seed_all(3)
    accelerator.save_state(tmp_path)
    states = torch.load(tmp_path / "random_states_0.pkl", weights_only=False)
    saved = states["torch_neuron_manual_seed"]
    assert len(saved) == torch.neuron.device_count()
    want = torch.rand(4, device="neuron")
    accelerator.load_state(tmp_path)
    assert torch.equal(torch.rand(4, device="neuron"), want)
