"""A Trainer that goes on from a checkpoint repeats the uninterrupted run, bit for bit."""

import tiny
import torch
from trainers import losses, trainer

import torch_neuronx
from torch_neuronx.huggingface import SaveRNGState

DROPOUT = {"resid_pdrop": 0.3, "embd_pdrop": 0.3, "attn_pdrop": 0.3}
SAVED_AFTER = 3


def run(folder, resume=None, **arguments):
    made = trainer(
        folder,
        tiny.build("gpt2", **DROPOUT),
        callbacks=[SaveRNGState()],
        save_strategy="steps",
        save_steps=SAVED_AFTER,
        **arguments,
    )
    with torch_neuronx.no_fallback():
        made.train(resume_from_checkpoint=resume)
    return made


def test_losses_and_weights_after_a_resume(tmp_path):
    """In bfloat16, with dropout, and from the middle of an epoch into the next."""
    how = {"bf16": True, "gradient_accumulation_steps": 2}
    whole = run(tmp_path / "whole", **how)
    checkpoint = tmp_path / "whole" / f"checkpoint-{SAVED_AFTER}"
    torch.manual_seed(99)  # the state of a process that has done something else
    rest = run(tmp_path / "rest", str(checkpoint), **how)
    assert losses(rest) == losses(whole)  # the first three are the checkpoint's
    for (name, got), want in zip(
        rest.model.named_parameters(), whole.model.parameters(), strict=True
    ):
        assert torch.equal(got, want), name
