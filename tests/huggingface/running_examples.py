"""Runs a script of examples/ in this process, as a person would call it."""

import importlib
import sys
from pathlib import Path

import torch
from accelerate_state import forget

import torch_neuronx

EXAMPLES = str(Path(__file__).parents[2] / "examples")


def run(name, device, *arguments):
    """What the `main` of examples/`name`.py returns on `device`; nothing may fall back."""
    if EXAMPLES not in sys.path:
        sys.path.append(EXAMPLES)
    main = importlib.import_module(name).main
    try:
        with torch_neuronx.no_fallback():
            return main(["--device", device, *(str(argument) for argument in arguments)])
    finally:
        forget()


def same_losses(got, want, terms, dtype=torch.float32):
    """Equal up to a rounding each for `terms` numbers that were added on the way to a loss."""
    assert len(got) == len(want)
    rtol = terms * torch.finfo(dtype).eps
    torch.testing.assert_close(torch.tensor(got), torch.tensor(want), rtol=rtol, atol=0)
