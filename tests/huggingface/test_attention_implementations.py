"""attn_implementation "eager", "sdpa" and "flex_attention": logits and gradients are the CPU's."""

import pytest
import tiny
import torch

import torch_neuronx

PADDED = torch.tensor([[tiny.BOS, *range(40, 55)], [tiny.PAD] * 4 + [tiny.BOS, *range(60, 71)]])
MASK = (PADDED != tiny.PAD).long()
# Nor is a first token predicted: what padding sees is left to the implementation.
LABELS = PADDED.masked_fill((MASK == 0) | (PADDED == tiny.BOS), -100)
# Of the largest element: one rounding for each term of the longest sum, the batch's gradient of the
# head, forward and backward; the worst case.
ERROR = 2 * (PADDED.numel() + 64) * torch.finfo(torch.float32).eps


def run(model, device):
    """-> logits of the tokens that are no padding, loss, and each parameter's gradient."""
    model.to(device).zero_grad()
    ids, mask, labels = (x.to(device) for x in (PADDED, MASK, LABELS))
    out = model(input_ids=ids, attention_mask=mask, labels=labels)
    out.loss.backward()
    gradients = {name: p.grad.cpu().clone() for name, p in model.named_parameters()}
    return {"logits": out.logits.detach().cpu()[MASK.bool()], "loss": out.loss.cpu()} | gradients


def agree(got, want):
    for name, expected in want.items():
        error = ERROR * max(1.0, expected.abs().max().item())
        assert (got[name] - expected).abs().max() <= error, name


@pytest.mark.parametrize("kind", ["llama", "gpt2", "bert"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_logits_and_gradients(kind, attention):
    model = tiny.build(kind, attn_implementation=attention)
    want = run(model, "cpu")
    with torch_neuronx.no_fallback():
        agree(run(model, "neuron"), want)


def test_flex_attention():
    """transformers compiles flex_attention with PyTorch's default backend, so ours is named."""
    want = run(tiny.build("llama", attn_implementation="eager"), "cpu")
    model = tiny.build("llama", attn_implementation="flex_attention")
    with (
        torch_neuronx.enable_flex_attention(),
        torch_neuronx.no_fallback(),
        torch.compiler.set_stance("default", force_backend="neuron"),
    ):
        agree(run(model, "neuron"), want)


def test_flex_attention_in_a_compiled_model():
    want = run(tiny.build("llama", attn_implementation="eager"), "cpu")
    model = tiny.build("llama", attn_implementation="flex_attention").to("neuron")
    model.compile(backend="neuron")
    with torch_neuronx.enable_flex_attention(), torch_neuronx.no_fallback():
        agree(run(model, "neuron"), want)
