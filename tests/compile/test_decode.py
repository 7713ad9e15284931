"""Decoding under torch.compile: Llama with a static and a growing cache, and what a step costs."""

import pytest
import torch
import torch.nn.functional as F
import transformers
from agreement import fastest_seconds
from graphs import compiled, extra_memory, graph_rows, traces
from models import VOCABULARY, llama_model
from torch._dynamo.utils import counters

import torch_neuronx

PROMPT, NEW = 5, 8
# Of the largest logit: one rounding for each term of the longest sum, the worst case.
ERROR = VOCABULARY * torch.finfo(torch.float32).eps


@pytest.fixture(autouse=True)
def fresh_counters():
    counters.clear()


CACHES = {
    "static": lambda config, length: transformers.StaticCache(config, max_cache_len=length),
    "dynamic": lambda config, length: transformers.DynamicCache(config=config),
}


class Decoder:
    """Takes the prompt eagerly; then `step` is to be called with one token after the other."""

    @torch.no_grad()
    def __init__(self, device, kind, length=PROMPT + NEW):
        torch.manual_seed(0)
        self.model = llama_model(length).to(device).eval()
        self.cache = CACHES[kind](self.model.config, length)
        prompt = torch.arange(2 * PROMPT, device=device).view(2, PROMPT)
        self.logits = [self.step(prompt)]

    def step(self, ids):
        return self.model(ids, None, None, self.cache).logits[:, -1]

    @torch.no_grad()
    def greedy(self, step):
        """-> the logits of the prompt and of NEW tokens."""
        for _ in range(NEW):
            self.logits.append(step(self.logits[-1].argmax(-1, keepdim=True)))
        return torch.stack(self.logits).cpu()


@pytest.mark.parametrize(("kind", "traced", "programs"), [("static", 1, 1), ("dynamic", 2, NEW)])
def test_decoding_agrees_with_eager_and_with_the_cpu(kind, traced, programs):
    decoder = Decoder("neuron", kind)
    since = len(torch_neuronx.explain().rows)
    got = decoder.greedy(compiled(decoder.step, fullgraph=True))
    assert (traces(), len(graph_rows(since))) == (traced, programs)
    for device in ("neuron", "cpu"):
        other = Decoder(device, kind)
        want = other.greedy(other.step)
        torch.testing.assert_close(got, want, rtol=0, atol=ERROR * want.abs().max().item())
        assert torch.equal(got.argmax(-1), want.argmax(-1))


def test_generate_compiles_its_steps():
    """transformers' own loop, which compiles the forward pass where the cache is static."""
    how = {"max_new_tokens": NEW, "do_sample": False, "cache_implementation": "static"}
    with_backend = transformers.CompileConfig(backend="neuron", mode=None, fullgraph=True)
    torch.manual_seed(0)
    model, prompt = llama_model(PROMPT + NEW).eval(), torch.arange(2 * PROMPT).view(2, PROMPT)
    want = model.generate(prompt, **how, disable_compile=True)
    got = model.to("neuron").generate(prompt.to("neuron"), **how, compile_config=with_backend)
    assert torch.equal(got.cpu(), want)
    assert traces() == 1


def test_the_static_cache_stays_in_place():
    decoder = Decoder("neuron", "static", length=1 << 14)
    step, token = compiled(decoder.step, fullgraph=True), torch.ones(2, 1, device="neuron").long()
    keys = decoder.cache.layers[0].keys
    address = keys.data_ptr()
    with torch.no_grad():
        step(token), step(token)
        assert extra_memory(lambda: step(token)) < keys.nbytes // 4
    assert decoder.cache.layers[0].keys.data_ptr() == address
    filled = keys.cpu().abs().sum((0, 1, 3)).nonzero().flatten()
    assert filled.tolist() == list(range(PROMPT + 3))


# ---- What one step costs: an update, and attention to the newest keys --------------------------

HEADS, WIDTH, WINDOW = 4, 16, 8


def by_assignment(cache, at, new):
    cache[:, at] = new


UPDATES = {
    "index_copy": lambda cache, at, new: cache.index_copy_(1, at, new),
    "scatter": lambda cache, at, new: cache.scatter_(1, at.expand(HEADS, 1, WIDTH), new),
    "assignment": by_assignment,
}


@pytest.mark.parametrize("update", UPDATES)
def test_the_time_of_a_step_does_not_grow_with_the_cache(update):
    @torch.compile(backend="neuron", fullgraph=True)
    def step(cache, at, new):
        UPDATES[update](cache, at, new)
        newest = cache.index_select(1, at + torch.arange(WINDOW, device=at.device) - WINDOW + 1)
        return F.scaled_dot_product_attention(new, newest, newest)

    def seconds(length):
        cache = torch.ones(HEADS, length, WIDTH, device="neuron")
        at, new = torch.tensor([100], device="neuron"), cache[:, :1] * 2
        return fastest_seconds(lambda: step(cache, at, new)), fastest_seconds(lambda: cache + 1)

    (short, _), (long, copying) = seconds(1 << 8), seconds(1 << 18)  # 64 KiB, 64 MiB
    assert long < short + copying / 4
