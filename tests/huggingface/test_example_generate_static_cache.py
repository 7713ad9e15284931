"""examples/generate_static_cache.py: every cache says what the CPU says, token by token."""

from running_examples import run

TOKENS = 12


def test_each_cache_says_what_the_cpu_says():
    small = ("--tokens", TOKENS, "--width", 32, "--layers", 2, "--vocabulary", 400)
    said = run("generate_static_cache", "neuron", *small)
    assert len(said) == 4
    want = said.pop("CPU")
    assert [len(tokens) for tokens in want] == [TOKENS, TOKENS]
    assert len({*want[0]}) > TOKENS // 2  # not one token for ever
    for name, tokens in said.items():
        assert tokens == want, name
