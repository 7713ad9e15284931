"""Everything in this folder runs on the device: what would run on the host fails."""

import pytest

import torch_neuronx


@pytest.fixture(autouse=True)
def on_the_device():
    with torch_neuronx.no_fallback():
        yield
