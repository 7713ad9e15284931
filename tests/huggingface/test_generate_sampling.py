"""generate(do_sample=True): a seed repeats the tokens, whose frequencies are right."""

import tiny
import torch

import torch_neuronx

PROMPT = torch.tensor([[tiny.BOS, 40, 41, 42, 43, 44, 45]])
SAMPLED = {"do_sample": True, "max_new_tokens": 2, "min_new_tokens": 2}
WARPED = {"temperature": 0.7, "top_k": 20, "top_p": 0.9}


def sample(model, seed, copies=1, **options):
    torch.manual_seed(seed)
    with torch_neuronx.no_fallback():
        prompt = PROMPT.to(model.device)
        return model.generate(prompt, num_return_sequences=copies, **options).cpu()


def test_a_seed_repeats_the_tokens():
    model = tiny.build("llama").to("neuron")
    first, again, other = (sample(model, seed, 4, **SAMPLED, **WARPED) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_devices_own_seed_is_enough():
    model = tiny.build("llama").to("neuron")
    states = []
    for _ in range(2):
        torch.neuron.manual_seed(5)
        with torch_neuronx.no_fallback():
            states.append(model.generate(PROMPT.to("neuron"), **SAMPLED).cpu())
    assert torch.equal(*states)


def test_frequencies_of_the_next_token():
    """Of `copies` draws from the CPU's distribution a count deviates by its standard deviation."""
    model, copies, few = tiny.build("llama"), 4096, 4
    with torch.no_grad():
        logits = model(PROMPT).logits[0, -1] * 20  # the temperature of the call
    top = logits.topk(few)
    want = top.values.softmax(0)
    how = {"do_sample": True, "max_new_tokens": 1, "temperature": 1 / 20, "top_k": few}
    tokens = sample(model.to("neuron"), 0, copies, **how)[:, -1]
    got = torch.stack([(tokens == token).float().mean() for token in top.indices])
    assert got.sum() == 1  # none but the likeliest few
    deviation = (want * (1 - want) / copies).sqrt()
    assert ((got - want).abs() < 5 * deviation).all()
