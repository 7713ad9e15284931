"""generate chooses the CPU's tokens: greedily and by beams, one sequence or a padded batch."""

import pytest
import tiny
import torch
import transformers

import torch_neuronx

NEW = 3
PROMPT = torch.tensor([[tiny.BOS, 40, 41, 42, 43, 44, 45], [tiny.BOS, 90, 80, 70, 60, 50, 40]])
PADDED = torch.tensor([[tiny.BOS, 40, 41, 42, 43, 44, 45], [tiny.PAD] * 3 + [tiny.BOS, 80, 70, 60]])
GREEDY = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}


def generate(model, device, ids=PROMPT, **options):
    """-> tokens, on the CPU."""
    model.to(device)
    mask = (ids != tiny.PAD).long()
    with torch_neuronx.no_fallback():
        result = model.generate(ids.to(device), attention_mask=mask.to(device), **options)
    assert result.device.type == device
    return result.cpu()


def agree(kind, ids=PROMPT, **options):
    model = tiny.build(kind)
    want = generate(model, "cpu", ids, **options)
    got = generate(model, "neuron", ids, **options)
    assert torch.equal(got, want)
    return got


@pytest.mark.parametrize("kind", ["llama", "gpt2", "t5"])
def test_greedy(kind):
    assert agree(kind, **GREEDY).shape[1] >= NEW


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_greedy_with_left_padding(kind):
    agree(kind, PADDED, **GREEDY)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_beams(kind):
    agree(kind, PADDED, **GREEDY, num_beams=3, num_return_sequences=2)


def test_penalties_and_forbidden_words():
    agree(
        "llama",
        **GREEDY,
        repetition_penalty=1.3,
        no_repeat_ngram_size=2,
        bad_words_ids=[[50], [60, 61]],
    )


def test_assisted():
    """A smaller model drafts, and the tokens are those of the larger alone."""
    draft = tiny.build("llama", seed=1, num_hidden_layers=1)
    how = {"max_new_tokens": NEW, "do_sample": False}
    want = generate(tiny.build("llama"), "cpu", PROMPT[:1], **how)
    got = generate(
        tiny.build("llama"), "neuron", PROMPT[:1], **how, assistant_model=draft.to("neuron")
    )
    assert torch.equal(got, want)


def test_no_cache():
    agree("llama", max_new_tokens=2, min_new_tokens=2, do_sample=False, use_cache=False)


def test_a_stop_string():
    tokenizer = tiny.tokenizer()
    free = generate(tiny.build("llama"), "cpu", PROMPT[:1], **GREEDY)
    first = tokenizer.decode(free[0, PROMPT.shape[1]])
    assert first.isascii()  # no part of a character, which would never be seen
    how = {"max_new_tokens": NEW, "do_sample": False, "stop_strings": first}
    stopped = agree("llama", PROMPT[:1], **how, tokenizer=tokenizer)
    assert stopped.shape[1] == PROMPT.shape[1] + 1


def test_a_stopping_criterion_of_ones_own():
    def at_length(ids, scores, **_):
        done = ids.shape[1] >= PROMPT.shape[1] + 2
        return torch.full((ids.shape[0],), done, device=ids.device)

    criteria = transformers.StoppingCriteriaList([at_length])
    got = agree("llama", max_new_tokens=NEW, do_sample=False, stopping_criteria=criteria)
    assert got.shape[1] == PROMPT.shape[1] + 2


def test_a_streamer_sees_the_tokens_in_order():
    class Streamer(transformers.generation.streamers.BaseStreamer):
        def __init__(self):
            self.tokens = []

        def put(self, value):
            self.tokens += value.flatten().tolist()

        def end(self):
            self.tokens.append(None)

    streamer = Streamer()
    result = generate(tiny.build("llama"), "neuron", PROMPT[:1], **GREEDY, streamer=streamer)
    assert streamer.tokens == [*result[0].tolist(), None]
