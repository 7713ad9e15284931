"""PEFT's adapters train as on the CPU."""

import pytest
import torch
from roundings import close

import torch_neuronx

peft = pytest.importorskip("peft")
import tiny_models  # noqa: E402

STEPS, LAYERS, WIDTH, LENGTH, RATE = 4, 2, 32, 12, 1e-2
TARGETS = ["q_proj", "v_proj", "down_proj"]

METHODS = {
    "lora": lambda: peft.LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=TARGETS),
    "dora": lambda: peft.LoraConfig(
        task_type="CAUSAL_LM", r=4, target_modules=TARGETS, use_dora=True
    ),
    "ia3": lambda: peft.IA3Config(
        task_type="CAUSAL_LM", target_modules=TARGETS, feedforward_modules=["down_proj"]
    ),
    "prompt": lambda: peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
    "prefix": lambda: peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
}


def trained(method, device):
    """The adapter's losses and weights. By plain descent: its steps are as exact as gradients."""
    model = tiny_models.llama()
    torch.manual_seed(1)
    model = peft.get_peft_model(model, METHODS[method]()).to(device)
    batch = tiny_models.tokens(2, LENGTH).to(device)
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.SGD(weights.values(), lr=RATE)
    losses = []
    for _ in range(STEPS):
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, weights


@pytest.mark.parametrize("method", METHODS)
def test_an_adapter_trains_as_on_the_cpu(method):
    want_losses, want_weights = trained(method, "cpu")
    with torch_neuronx.no_fallback():
        losses, weights = trained(method, "neuron")
    terms = LAYERS * (4 * WIDTH + 2 * WIDTH + LENGTH)  # of the products in a layer
    for got, want in zip(losses, want_losses, strict=True):
        close(got, want, STEPS * terms)
    assert losses[-1] < losses[0]
    assert weights.keys() == want_weights.keys()
    for name, weight in weights.items():
        assert weight.device.type == "neuron"
        close(weight, want_weights[name], STEPS * terms)
