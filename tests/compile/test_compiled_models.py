"""Models under torch.compile train as eager and as the CPU: losses, gradients, steps of AdamW."""

import pytest
import torch
from models import MODELS

import torch_neuronx

STEPS = 5


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):  # else Dynamo refuses nn.LSTM
        yield


class Training:
    """The losses of a few steps, and the gradients of the first one."""

    def __init__(self, name, device, *, compiled=False, autocast=False):
        spec = MODELS[name]
        torch.manual_seed(0)
        self.model = spec.make().to(device)
        self.gradients, self.losses = {}, []
        batch = [t.to(device) for t in spec.batch()]
        run = (
            torch.compile(self.model, backend="neuron", fullgraph=True) if compiled else self.model
        )
        # With Adam's own eps, 1e-8, the noise of a gradient near 0 would be a whole step.
        optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3, eps=1e-3)
        torch.manual_seed(1)
        for _ in range(STEPS):
            with torch.autocast(device, torch.bfloat16, enabled=autocast):
                loss = run(*batch)
            optimizer.zero_grad()
            loss.backward()
            self.gradients = self.gradients or self._gradients()
            optimizer.step()
            self.losses.append(loss.item())

    def _gradients(self):
        named = self.model.named_parameters()
        return {name: p.grad.cpu() for name, p in named if p.grad is not None}


def agree(got, want, error):
    """`error` is relative: of the losses, and of the largest gradient for all of them, because
    some, as those of the biases before a softmax, are nothing but noise."""
    assert got.losses == pytest.approx(want.losses, rel=error)
    assert got.gradients.keys() == want.gradients.keys()
    largest = max(g.abs().max().item() for g in want.gradients.values())
    for name, gradient in want.gradients.items():
        torch.testing.assert_close(
            got.gradients[name],
            gradient,
            rtol=0,
            atol=error * largest,
            msg=lambda m: f"{name}: {m}",
        )


@pytest.mark.parametrize("name", MODELS)
def test_training_agrees_with_eager_and_with_the_cpu(name):
    # One rounding for each term of the longest sum, the worst case.
    error = MODELS[name].terms * torch.finfo(torch.float32).eps
    compiled, eager = Training(name, "neuron", compiled=True), Training(name, "neuron")
    agree(compiled, eager, error)
    if not MODELS[name].random:
        agree(compiled, Training(name, "cpu"), error)
