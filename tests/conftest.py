"""What every test shares: the environment of the run, and the device.

The environment is set before torch is imported, for importing torch loads the backend.
"""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent

# Programs are keyed by the sources that lower them, so a cache kept between runs is sound.
os.environ.setdefault("TORCH_NEURONX_NEFF_CACHE_DIR", str(_ROOT / "build" / "test-cache"))
os.environ.setdefault("NEURON_RT_NUM_CORES", "2")

import hypothesis  # noqa: E402 - its plugins may import torch
import torchvision_library  # noqa: E402

torchvision_library.load()  # before anything imports transformers or timm, which import torchvision

hypothesis.settings.register_profile("project", deadline=None, print_blob=True)
hypothesis.settings.load_profile("project")


def pytest_collectstart(collector):
    """What a module draws while it is imported is the same in every run, whatever else is run."""
    import torch

    if isinstance(collector, pytest.Module):
        torch.manual_seed(0)


def pytest_addoption(parser):
    parser.addoption(
        "--compiled",
        action="store_true",
        help="run what tests compare with the CPU under torch.compile(backend='neuron')",
    )


@pytest.fixture(autouse=True)
def _seeded():
    import torch

    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _compiled(request):
    import agreement

    with agreement.compiling(request.config.getoption("--compiled")):
        yield


@pytest.fixture(scope="session")
def device():
    """The device under test; skips nothing: a backend that is not usable fails the run."""
    import torch

    return torch.device("neuron")


@pytest.fixture
def cache_dir(tmp_path, monkeypatch):
    """An empty executable cache for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TORCH_NEURONX_NEFF_CACHE_DIR", str(folder))
    return folder
