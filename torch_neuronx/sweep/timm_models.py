"""timm's models: which there are, and each built small."""

from __future__ import annotations

import contextlib
import inspect
import re
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep import libraries
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.rules import LAYERS
from torch_neuronx.sweep.transformers_models import randomized

BATCH = 2
CLASSES = 10
SIZES = (64, 96, 128, 160, 224, 240, 256)  # pixels; the first one that a model takes
_SMALL = (
    "atto",
    "femto",
    "pico",
    "nano",
    "xxs",
    "_xs",
    "tiny",
    "_xxtiny",
    "mini",
    "small",
    "_s",
    "lite",
)


def architectures(all_variants: bool) -> list[Architecture]:
    """The smallest variant of each of timm's modules, by its name, or all."""
    timm = libraries.load("timm")
    found = []
    for module in timm.list_modules():
        names = timm.list_models(module=module)
        chosen = names if all_variants else sorted(names, key=_smallness)[:1]
        found += [
            Architecture("timm", module, name, ("IMAGE_CLASSIFICATION",), 4) for name in chosen
        ]
    return found


def _smallness(name: str) -> tuple[int, int, str]:
    """Orders variants so that one whose name says that it is small comes first: by a word, then by
    its first number."""
    number = int((re.findall(r"\d+", name) or [0])[0])
    if name.startswith("test_"):
        return -1, number, name
    at = [place for place, word in enumerate(_SMALL) if word in name]
    return (min(at) if at else len(_SMALL)), number, name


def build(architecture: Architecture) -> tuple[nn.Module, dict[str, Any]]:
    """The model, in evaluation mode, and a batch of random images."""
    timm = libraries.load("timm")
    failure: Exception | None = None
    for size in SIZES:
        try:
            model = _created(timm, architecture.model, size)
            inputs = _inputs(model, size)
            with torch.no_grad():
                model(**inputs)
        except (AssertionError, RuntimeError, ValueError, ZeroDivisionError) as error:
            failure = error  # too small an image for its stages or windows
            continue
        # Made again, for what has run may hold what it computed, on the CPU and without gradients.
        return _created(timm, architecture.model, size), inputs
    assert failure is not None
    raise failure


def _created(timm: Any, name: str, size: int) -> nn.Module:
    torch.manual_seed(0)
    given = {"num_classes": CLASSES, "drop_rate": 0.0}
    for more in ({"img_size": size, "depth": LAYERS}, {"img_size": size}):
        # Not every model has a size of its images, or as many layers in each stage.
        with contextlib.suppress(TypeError, ValueError):
            return randomized(timm.create_model(name, **given, **more).eval())
    return randomized(timm.create_model(name, **given).eval())


def _inputs(model: nn.Module, size: int) -> dict[str, Any]:
    channels = getattr(model, "default_cfg", {}).get("input_size", (3,))[0]
    name = next(iter(inspect.signature(model.forward).parameters))
    return {name: torch.randn(BATCH, channels, size, size)}
