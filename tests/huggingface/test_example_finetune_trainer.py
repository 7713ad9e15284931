"""examples/finetune_trainer.py learns as on the CPU, and resumes exactly."""

import pytest
import torch
from running_examples import run, same_losses

STEPS, LAYERS, WIDTH, CONTEXT, VOCABULARY = 6, 2, 32, 32, 400
SMALL = ("--steps", STEPS, "--layers", LAYERS, "--width", WIDTH, "--context", CONTEXT)
SMALL += ("--vocabulary", VOCABULARY, "--batch", 4)


@pytest.mark.parametrize("options", [(), ("--compile",)], ids=["eager", "compiled"])
def test_the_losses_are_those_of_the_cpu(tmp_path, options):
    want = run("finetune_trainer", "cpu", *SMALL, "--output", tmp_path / "cpu")
    got = run("finetune_trainer", "neuron", *SMALL, *options, "--output", tmp_path / "neuron")
    # The longest sums of a layer: over its width (queries, keys, values), the context, its width
    # (output, gate, up) and the MLP's; backward as many again. A step ends in the vocabulary's.
    layer = 2 * WIDTH + CONTEXT + 3 * WIDTH
    same_losses(got.losses, want.losses, STEPS * 2 * (LAYERS * layer + WIDTH + VOCABULARY))
    assert got.losses[-1] < got.losses[0]
    assert got.late_programs() == 0


def test_bfloat16_learns_as_on_the_cpu(tmp_path):
    options = (*SMALL, "--bf16", "--output", tmp_path)
    want, got = (
        run("finetune_trainer", "cpu", *options),
        run("finetune_trainer", "neuron", *options),
    )
    # Products are added in float32; about twelve results a layer are rounded to bfloat16.
    same_losses(got.losses, want.losses, 12 * LAYERS, torch.bfloat16)


def test_a_resumed_run_has_the_losses_of_the_uninterrupted_one(tmp_path):
    whole = run("finetune_trainer", "neuron", *SMALL, "--output", tmp_path)
    checkpoint = tmp_path / f"checkpoint-{STEPS // 2}"
    rest = run("finetune_trainer", "neuron", *SMALL, "--output", tmp_path, "--resume", checkpoint)
    assert rest.losses == whole.losses[STEPS // 2 :]
