"""examples/diffusion.py learns as on the CPU, and draws the same picture."""

import torch
from PIL import Image
from running_examples import run, same_losses

STEPS, WIDTH, DRAWS = 4, 16, 4
SMALL = ("--steps", STEPS, "--batch", 8, "--width", WIDTH, "--draws", DRAWS)
# The longest sums of the network: 3x3 convolutions over at most 2*WIDTH channels, five resnet
# blocks deep, two each.
TERMS = 5 * 2 * 9 * 2 * WIDTH


def test_the_losses_and_the_drawn_digits_are_those_of_the_cpu(tmp_path):
    want = run("diffusion", "cpu", *SMALL, "--picture", tmp_path / "cpu.png")
    got = run("diffusion", "neuron", *SMALL, "--picture", tmp_path / "neuron.png")
    same_losses(got["losses"], want["losses"], STEPS * 2 * TERMS)
    tolerance = DRAWS * TERMS * torch.finfo(torch.float32).eps
    torch.testing.assert_close(got["drawn"], want["drawn"], rtol=0, atol=tolerance)
    assert want["drawn"].std() > 0.1
    with Image.open(tmp_path / "neuron.png") as picture:
        assert picture.size == (2 * 8 * 10 * 6, 8 * 10 * 6)
