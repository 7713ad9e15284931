"""generate(cache_implementation="static") compiles its decode step for the device by itself."""

import pytest
import tiny
import torch
from torch._dynamo.utils import counters

import torch_neuronx

NEW = 4
PROMPT = torch.tensor([[tiny.BOS, 40, 41, 42, 43, 44, 45], [tiny.PAD] * 3 + [tiny.BOS, 80, 70, 60]])
STATIC = {
    "max_new_tokens": NEW,
    "min_new_tokens": NEW,
    "do_sample": False,
    "cache_implementation": "static",
}


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    counters.clear()


def generate(model, ids, **options):
    with torch_neuronx.no_fallback():
        mask = (ids != tiny.PAD).long()
        return model.generate(ids, attention_mask=mask, **{**STATIC, **options}).cpu()


def graphs(since=0):
    return [row for row in torch_neuronx.explain().rows[since:] if row.nodes]


@pytest.mark.parametrize("kind", ["qwen", "gpt2", "t5"])
def test_tokens_are_the_cpus_and_the_step_is_one_graph(kind):
    model = tiny.build(kind)
    want = generate(model, PROMPT, disable_compile=True)
    got = generate(model.to("neuron"), PROMPT.to("neuron"))
    assert torch.equal(got, want)
    assert model._last_compile_config.backend == "neuron"
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]


def test_a_second_call_compiles_nothing():
    model, ids = tiny.build("llama").to("neuron"), PROMPT.to("neuron")
    first = generate(model, ids)
    rows = len(torch_neuronx.explain().rows)
    assert torch.equal(generate(model, ids), first)
    assert len(torch_neuronx.explain().rows) == rows


def test_inputs_that_stay_on_the_host():
    """What grows with each token stays off the device, which sees one shape in all steps."""
    model = tiny.build("llama")
    want = generate(model, PROMPT, disable_compile=True)
    model.to("neuron")
    assert torch.equal(generate(model, PROMPT), want)
    few, many = (programs_of(model, PROMPT, tokens) for tokens in (NEW + 1, 2 * NEW))
    assert few == many > 0  # for a cache of another length, and none for each step


def programs_of(model, ids, tokens):
    """How many programs a call makes that generates so many tokens."""
    before = len(torch_neuronx.explain().rows)
    generate(model, ids, max_new_tokens=tokens, min_new_tokens=tokens)
    return len(torch_neuronx.explain().rows) - before


def test_without_compiling():
    model = tiny.build("llama")
    want = generate(model, PROMPT, disable_compile=True)
    assert torch.equal(
        generate(model.to("neuron"), PROMPT.to("neuron"), disable_compile=True), want
    )
    assert counters["stats"]["unique_graphs"] == 0
