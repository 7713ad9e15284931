"""Models under torch.compile train as eager and as the CPU: losses, gradients, steps of AdamW."""

import pytest
import torch
from graphs import compiled
from models import MODELS

STEPS = 5


@pytest.fixture(autouse=True)
def recurrent_layers():
    """Dynamo refuses nn.LSTM unless it is told otherwise."""
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


class Training:
    """The losses of a few steps, and the gradients of the first one."""

    def __init__(self, name, device, *, wrap=lambda model: model, autocast=False):
        spec = MODELS[name]
        torch.manual_seed(0)
        self.model = spec.make().to(device)
        self.gradients, self.losses = {}, []
        batch = [t.to(device) for t in spec.batch()]
        run = wrap(self.model)
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


def in_one_graph(model):
    return compiled(model, fullgraph=True)


def agree(got, want, error):
    """`error` is relative: of the losses, and of the largest gradient for all of them, because
    some, as those of the biases before a softmax, are nothing but noise."""
    assert got.losses == pytest.approx(want.losses, rel=error)
    assert got.gradients.keys() == want.gradients.keys()
    allowed = error * max(g.abs().max().item() for g in want.gradients.values())
    for name, gradient in want.gradients.items():
        distance = (got.gradients[name] - gradient).abs().max().item()
        assert distance <= allowed, f"{name}: {distance} > {allowed}"


@pytest.mark.parametrize("name", MODELS)
def test_training_agrees_with_eager_and_with_the_cpu(name):
    # One rounding for each term of the longest sum, the worst case.
    error = MODELS[name].terms * torch.finfo(torch.float32).eps
    ours = Training(name, "neuron", wrap=in_one_graph)
    agree(ours, Training(name, "neuron"), error)
    if not MODELS[name].random:
        agree(ours, Training(name, "cpu"), error)


def test_training_in_bfloat16_agrees_with_eager():
    ours = Training("gpt2", "neuron", wrap=in_one_graph, autocast=True)
    eps = torch.finfo(torch.bfloat16).eps
    agree(ours, Training("gpt2", "neuron", autocast=True), eps)
    # Two blocks of four products and their gradients: some sixteen roundings of eps / 2 in a row.
    agree(ours, Training("gpt2", "cpu"), 8 * eps)
