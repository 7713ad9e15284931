"""After each refused call: the device still computes, and nothing is left in its memory."""

import gc

import pytest
import torch

_NUMBERS = 4096  # bytes: numbers that were passed to programs are kept, 8 bytes each


@pytest.fixture(autouse=True)
def _usable_and_clean_afterwards():
    before = torch.neuron.memory_allocated()
    yield
    probe = torch.arange(4, device="neuron") * 2
    assert probe.tolist() == [0, 2, 4, 6]
    del probe
    if torch.neuron.memory_allocated() > before + _NUMBERS:
        gc.collect()  # slow, and mostly not needed
    assert torch.neuron.memory_allocated() <= before + _NUMBERS
