"""What the tests of other libraries share: they run without a network.

The environment is set before huggingface_hub is imported, which reads it once.
"""

import os

import accelerate_state
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(autouse=True)
def _device_is_chosen_anew():
    yield
    accelerate_state.forget()
