"""The installation: its metadata, the torch it is tied to, and what a wrong one does."""

import importlib.metadata
import subprocess
import sys
import textwrap
from pathlib import Path

import torch

from torch_neuronx._build_info import TORCH_VERSION

ROOT = Path(__file__).parents[2]


def python(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )


def test_the_entry_point_loads_the_backend():
    (entry,) = importlib.metadata.entry_points(group="torch.backends", name="torch_neuronx")
    assert entry.value == "torch_neuronx:_autoload"


def test_the_core_was_built_for_the_torch_that_runs():
    assert torch.__version__ == TORCH_VERSION
    requires = importlib.metadata.requires("torch-neuronx")
    assert f"torch=={torch.__version__.split('+')[0]}" in requires


def test_another_torch_is_one_line_and_torch_still_works():
    result = python("""
        import sys, types
        info = types.ModuleType("torch_neuronx._build_info")
        info.TORCH_VERSION = "2.12.1+cpu"
        sys.modules["torch_neuronx._build_info"] = info
        import torch
        print((torch.ones(2) + 1).tolist())
    """)
    assert result.returncode == 0
    assert result.stdout == "[2.0, 2.0]\n"
    (line,) = result.stderr.splitlines()
    assert "2.12.1" in line
    assert torch.__version__ in line


def test_autoload_can_be_switched_off():
    result = python("""
        import os
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        import torch
        assert not hasattr(torch, "neuron")
    """)
    assert result.returncode == 0, result.stderr


def test_the_build_finds_torch_without_importing_it():
    result = python(f"""
        import sys
        sys.path.insert(0, {str(ROOT / "tools")!r})
        from find_torch import find_torch
        print(find_torch().version)
        assert "torch" not in sys.modules
    """)
    assert result.stdout.strip() == torch.__version__
