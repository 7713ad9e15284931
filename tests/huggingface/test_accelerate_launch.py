"""`accelerate launch` and `accelerate env` know the device."""

import subprocess
import sys

import pytest

pytest.importorskip("accelerate")

SCRIPT = """
import accelerate, torch
accelerator = accelerate.Accelerator()
layer = accelerator.prepare(torch.nn.Linear(3, 2))
print("launched on", layer.weight.device.type, accelerator.mixed_precision)
"""


def command(*arguments):
    run = [sys.executable, "-m", *arguments]
    result = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_script_is_launched_on_the_device(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    options = ["--num_processes", "1", "--num_machines", "1", "--mixed_precision", "bf16"]
    options += ["--dynamo_backend", "no"]
    said = command("accelerate.commands.launch", *options, str(script))
    assert "launched on neuron bf16" in said


def test_the_environment_is_reported():
    assert "NEURON type: neuron" in command("accelerate.commands.accelerate_cli", "env")
