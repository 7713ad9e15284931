"""Small models train as on the CPU, with native programs only, none made after the first steps."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import torch_neuronx


def data(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def mlp():
    hidden = (nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh())
    return nn.Sequential(*hidden, nn.Linear(32, 4))


def cnn():
    # No biases before batch norm: their gradients are rounding noise, which Adam would magnify.
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, bias=False), nn.BatchNorm2d(16), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip


MODELS = {"mlp": (mlp, (6, 12)), "cnn": (cnn, (6, 3, 12, 12)), "lstm": (LSTM, (6, 5, 8))}

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True),
    "adamw foreach": lambda p: torch.optim.AdamW(p, 1e-2, foreach=True),
    "adamw fused": lambda p: torch.optim.AdamW(p, 1e-2, fused=True),
    "adam amsgrad": lambda p: torch.optim.Adam(p, 1e-2, amsgrad=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-3),
    "adagrad": lambda p: torch.optim.Adagrad(p, 1e-2),
}


class Trainer:
    """One model and optimizer on one device; the learning rate changes at every step."""

    def __init__(self, device, model, optimizer):
        make, self.shape = MODELS[model]
        torch.manual_seed(0)
        self.model = make().to(device)
        self.device = device
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.93)

    def step(self, i):
        x, target = data(*self.shape, seed=i), torch.arange(6).remainder(4)
        loss = F.cross_entropy(self.model(x.to(self.device)), target.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_agrees_with_cpu(model, optimizer):
    cpu, device = Trainer("cpu", model, optimizer), Trainer("neuron", model, optimizer)
    torch_neuronx.clear_op_tracking()
    for i in range(8):
        # Both sums of a few hundred float32 terms; Adam's division doubles their difference.
        assert device.step(i) == pytest.approx(cpu.step(i), rel=2e-4, abs=2e-5)
        if i == 2:
            programs = len(torch_neuronx.explain().rows)
    assert torch_neuronx.get_fallback_ops() == []
    assert len(torch_neuronx.explain().rows) == programs
    for (name, got), want in zip(
        device.model.state_dict().items(), cpu.model.state_dict().values(), strict=True
    ):
        assert got.stride() == want.stride(), name
        torch.testing.assert_close(got.cpu(), want, rtol=2e-2, atol=2e-3)


def test_evaluation_uses_the_running_statistics():
    device, cpu = Trainer("neuron", "cnn", "sgd"), Trainer("cpu", "cnn", "sgd")
    for i in range(3):
        device.step(i), cpu.step(i)
    x = data(4, 3, 12, 12, seed=9)
    with torch.no_grad():
        got, want = device.model.eval()(x.to("neuron")), cpu.model.eval()(x)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-3, atol=1e-4)


def test_a_run_resumes_from_a_checkpoint_bit_for_bit(tmp_path):
    whole = Trainer("neuron", "mlp", "adamw foreach")
    losses = [whole.step(i) for i in range(6)]
    first = Trainer("neuron", "mlp", "adamw foreach")
    for i in range(3):
        first.step(i)
    parts = (first.model, first.optimizer, first.schedule)
    torch.save([part.state_dict() for part in parts], tmp_path / "state.pt")
    second = Trainer("neuron", "mlp", "adamw foreach")
    for part, state in zip(
        (second.model, second.optimizer, second.schedule),
        torch.load(tmp_path / "state.pt", weights_only=True),
        strict=True,
    ):
        part.load_state_dict(state)
    assert [second.step(i) for i in range(3, 6)] == losses[3:]


def test_gradient_scaling_skips_a_step_with_infinities():
    trainer = Trainer("neuron", "mlp", "sgd")
    scaler = torch.amp.GradScaler("neuron", init_scale=2.0**10)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    with torch.autocast("neuron", dtype=torch.float16):
        loss = trainer.model(data(6, 12).to("neuron")).float().square().mean()
    scaler.scale(loss * torch.inf).backward()
    scaler.step(trainer.optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**9
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))
