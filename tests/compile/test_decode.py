"""Decoding under torch.compile: Llama with a static and a growing cache; caches stay in place."""

import pytest
import torch
import transformers
from agreement import median_seconds
from models import VOCABULARY, llama_model
from torch._dynamo.utils import counters

import torch_neuronx

PROMPT, NEW, LENGTH = 5, 8, 32
# Of the logits: one rounding for each term of the longest sum, the worst case.
ERROR = VOCABULARY * torch.finfo(torch.float32).eps


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    counters.clear()


CACHES = {
    "static": lambda config: transformers.StaticCache(config, max_cache_len=LENGTH),
    "dynamic": lambda config: transformers.DynamicCache(config=config),
}


@torch.no_grad()
def decode(device, kind, compiled=False):
    """Greedy, the prompt eagerly, then token by token: (the logits of each, the cache)."""
    torch.manual_seed(0)
    model = llama_model(LENGTH).to(device).eval()
    cache = CACHES[kind](model.config)

    def step(ids):
        return model(ids, None, None, cache).logits[:, -1]

    ids = torch.arange(2 * PROMPT, device=device).view(2, PROMPT)
    logits = [step(ids)]
    step = torch.compile(step, backend="neuron", fullgraph=True) if compiled else step
    for _ in range(NEW):
        logits.append(step(logits[-1].argmax(-1, keepdim=True)))
    return torch.stack(logits).cpu(), cache


@pytest.mark.parametrize("kind", CACHES)
def test_decoding_agrees_with_eager_and_with_the_cpu(kind):
    got, _ = decode("neuron", kind, compiled=True)
    for want, _ in (decode("neuron", kind), decode("cpu", kind)):
        torch.testing.assert_close(got, want, rtol=0, atol=ERROR * want.abs().max().item())
        assert torch.equal(got.argmax(-1), want.argmax(-1))
