"""Trainer with its defaults, unmodified: the losses of the CPU, and no op on the host."""

import pytest
import tiny
import torch
import transformers
from trainers import LENGTH, losses, trainer

import torch_neuronx

STEPS = 6
# A loss of the order of 1 has one rounding for each term of the longest sum. An update moves a
# weight by up to the learning rate, in a direction that roundings of a tiny gradient may turn:
# each step adds as much again.
TERMS = 4 * LENGTH + 64
EPS = {"float32": torch.finfo(torch.float32).eps, "bfloat16": torch.finfo(torch.bfloat16).eps}


def train(folder, device, kind="llama", **arguments):
    run = trainer(folder, tiny.build(kind), device, **arguments)
    with torch_neuronx.no_fallback():
        run.train()
    return run


def agree(tmp_path, error, **arguments):
    """-> the device's trainer, after the same losses as the CPU's."""
    want = train(tmp_path, "cpu", **arguments)
    got = train(tmp_path, "neuron", **arguments)
    assert next(got.model.parameters()).device.type == "neuron"
    assert losses(got) == pytest.approx(losses(want), abs=error)
    return got


def test_defaults(tmp_path):
    run = agree(tmp_path, TERMS * STEPS * EPS["float32"])
    assert run.args.optim == "adamw_torch_fused"
    assert run.args.dataloader_pin_memory
    assert isinstance(run.optimizer.optimizer, torch.optim.AdamW)
    assert run.optimizer.optimizer.defaults["fused"]


def test_gradient_accumulation(tmp_path):
    agree(tmp_path, TERMS * STEPS * EPS["float32"], gradient_accumulation_steps=2)


def test_gradient_checkpointing(tmp_path):
    agree(tmp_path, TERMS * STEPS * EPS["float32"], gradient_checkpointing=True)


def test_bf16(tmp_path):
    """Activations have 8 bits: of a loss of 6 the mean over the batch is off by less than one."""
    agree(tmp_path, 6 * EPS["bfloat16"], bf16=True)


def test_evaluation(tmp_path):
    runs = [
        train(tmp_path, device, eval_strategy="steps", eval_steps=3) for device in ("cpu", "neuron")
    ]
    want, got = ([e["eval_loss"] for e in r.state.log_history if "eval_loss" in e] for r in runs)
    assert len(got) == 2
    assert got == pytest.approx(want, abs=TERMS * STEPS * EPS["float32"])
    predicted, expected = (r.predict(r.eval_dataset).predictions for r in reversed(runs))
    assert predicted == pytest.approx(expected, abs=TERMS * STEPS * EPS["float32"])


def test_torch_compile_takes_the_devices_backend(tmp_path):
    torch._dynamo.reset()
    want = losses(train(tmp_path, "cpu"))
    since = len(torch_neuronx.explain().rows)
    run = train(tmp_path, "neuron", torch_compile=True)
    assert losses(run) == pytest.approx(want, abs=TERMS * STEPS * EPS["float32"])
    assert run.args.torch_compile_backend == "neuron"
    graphs = [row for row in torch_neuronx.explain().rows[since:] if row.nodes]
    assert graphs, "nothing was compiled"


def test_inductor_is_refused_with_what_to_do(tmp_path):
    torch._dynamo.reset()
    run = trainer(tmp_path, tiny.build("llama"), torch_compile_backend="inductor")
    with pytest.raises(RuntimeError, match="backend='neuron'"):
        run.train()


def test_the_data_seed_orders_the_batches(tmp_path):
    first, again, other = (
        losses(train(tmp_path, "neuron", data_seed=seed, max_steps=2)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert transformers.TrainingArguments("x").data_seed is None
