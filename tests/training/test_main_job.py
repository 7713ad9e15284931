"""The main job, examples/train_gpt.py: as on the CPU, natively, and compiled once."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import torch_neuronx

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_gpt.py"


@pytest.fixture(scope="module")
def job():
    spec = importlib.util.spec_from_file_location("train_gpt", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses(job, device, steps, *, dropout=0.0, backend=None):
    torch.manual_seed(0)
    text = torch.tensor(list("\n\n".join(job.topics.topics.values()).encode()))
    model = job.GPT(dropout).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: job.schedule(s, steps))
    batches = job.batches(text, 4, 0)
    model = torch.compile(model, backend=backend) if backend else model
    for _ in range(steps):
        loss = job.loss_of(model, next(batches).to(device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        yield loss.item()


def test_the_first_losses_are_those_of_the_cpu(job):
    torch_neuronx.clear_op_tracking()
    device = losses(job, "neuron", 20)
    for step, (got, want) in enumerate(zip(device, losses(job, "cpu", 20), strict=True)):
        assert got == pytest.approx(want, abs=1e-3)
        if step == 2:
            programs = len(torch_neuronx.explain().rows)
    assert torch_neuronx.get_fallback_ops() == []
    assert len(torch_neuronx.explain().rows) == programs, "a later step made a new program"


def test_the_compiled_job_has_the_same_losses_with_dropout_too(job):
    eager = list(losses(job, "neuron", 20, dropout=0.1))  # one after the other: they draw
    for step, got in enumerate(losses(job, "neuron", 20, dropout=0.1, backend="neuron")):
        assert got == pytest.approx(eager[step], abs=1e-3)
        if step == 2:
            programs = len(torch_neuronx.explain().rows)
    assert len(torch_neuronx.explain().rows) == programs, "a later step made a new program"
    assert [m.graph_name.split(" ")[-1] for m in torch.neuron.get_dynamo_metrics()][-2:] == [
        "forward",
        "backward",
    ]


def test_a_second_process_compiles_nothing(tmp_path):
    environment = {**os.environ, "TORCH_NEURONX_NEFF_CACHE_DIR": str(tmp_path / "cache")}
    options = ["--steps=6", "--batch=2", "--sample=4", f"--plot={tmp_path / 'loss.png'}"]
    reports = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, str(EXAMPLE), *options],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        reports.append(dict(re.findall(r"^(\w.*?)  +(\S.*)$", run.stdout, re.MULTILINE)))
    first, second = reports
    assert int(first["programs from compiled"]) > 50
    assert second["programs from compiled"] == "0"
    for report in reports:
        assert report["fallbacks to the host"] == "0"
        assert report["new programs after step 3"] == "0"
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
