"""The libraries that the sweep runs, imported so that a missing one is a clear sentence."""

from __future__ import annotations

import importlib
import logging
from types import ModuleType

EXTRA = "pip install 'torch-neuronx[huggingface]'"

# torchvision's own operators, whose schemas its Python code expects when it is imported.
_SCHEMAS = {
    "torchvision::nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


def load(name: str) -> ModuleType:
    """The module of a library; ImportError that says what to install where it is missing."""
    load_torchvision()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ImportError(f"The sweep of {name} needs the library: {EXTRA}.") from None


def load_torchvision() -> None:
    """Imports torchvision where it is installed, also one whose operators cannot be loaded.

    The index serves torchvision for CUDA only. Beside a torch for the CPU its library does not
    load, and importing its Python code then fails for want of two operators' declarations, and with
    it most of Transformers and all of timm. With the declarations, everything but the operators
    themselves works.
    """
    import torch

    try:
        importlib.import_module("torchvision")
    except ModuleNotFoundError:
        return
    except RuntimeError as error:
        if "does not exist" not in str(error):
            raise
        for operator, schema in _SCHEMAS.items():
            torch.library.define(operator, schema)
        importlib.import_module("torchvision")


def hush() -> None:
    """Imports what is installed, and leaves errors only of what the libraries log."""
    for name in ("transformers", "diffusers"):
        try:
            module = load(name)
        except ImportError:
            continue
        module.utils.logging.set_verbosity(logging.CRITICAL)
        module.utils.logging.disable_progress_bar()
