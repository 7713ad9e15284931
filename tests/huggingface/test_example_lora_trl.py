"""examples/lora_trl.py: base and adapter learn as on the CPU, and merging changes nothing."""

from running_examples import run, same_losses

BASE_STEPS, STEPS, LAYERS, WIDTH, VOCABULARY, LENGTH = 10, 4, 2, 32, 2048, 128
SMALL = ("--steps", STEPS, "--base-steps", BASE_STEPS, "--layers", LAYERS, "--width", WIDTH)
SMALL += ("--vocabulary", VOCABULARY, "--batch", 4)


def test_base_and_adapter_learn_as_on_the_cpu(tmp_path):
    want = run("lora_trl", "cpu", *SMALL, "--output", tmp_path / "cpu")
    got = run("lora_trl", "neuron", *SMALL, "--output", tmp_path / "neuron")
    terms = 2 * (LAYERS * (5 * WIDTH + LENGTH) + WIDTH + VOCABULARY)  # of a step, there and back
    same_losses(got["base"], want["base"], BASE_STEPS * terms)
    same_losses(got["adapter"], want["adapter"], (BASE_STEPS + STEPS) * terms)
    assert got["base"][-1] < got["base"][0]
    assert got["late"] == [0, 0]
    # Merging adds the adapter's product to weights of the order of 0.02 before, not after, the sum.
    assert got["difference"][0] < 2**-23 * terms
    assert (tmp_path / "neuron" / "merged" / "model.safetensors").exists()
