"""From an exception to what a reader needs: the op, the line, whose fault it is."""

from __future__ import annotations

import re
import traceback
from dataclasses import asdict, dataclass
from typing import Any

from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.diffusers import REFUSED as REFUSED_MODELS
from torch_neuronx.sweep.overrides import REFUSED as REFUSED_TYPES

# Whose fault a failure is. A model that does not run on the CPU either is never the backend's.
BACKEND = "backend"
LIBRARY = "library"
CONFIGURATION = "configuration"

_OP = re.compile(r"\b((?:aten|torchvision|prims|neuron)(?:::|\.)\w+(?:\.\w+)?)")
_SOURCES = ("/transformers/", "/timm/", "/diffusers/")
_OURS = "/torch_neuronx/"
_SWEEP = "/torch_neuronx/sweep/"
_TAIL = 12  # lines of the traceback that are kept
_LONGEST = 600  # characters of a message


def of_reference(architecture: Architecture) -> str:
    """Of a model that the CPU does not run either: our reduction's, unless a table knows better."""
    known = {*REFUSED_TYPES, *REFUSED_MODELS}
    return LIBRARY if {architecture.family, architecture.model} & known else CONFIGURATION


@dataclass(frozen=True)
class Failure:
    """What went wrong in a check. `line`: the deepest of the library; `ours`: of the backend."""

    check: str
    cause: str
    kind: str
    message: str
    op: str = ""
    line: str = ""
    ours: str = ""
    tail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def from_exception(check: str, cause: str, error: BaseException) -> Failure:
    """A missing dependency is the library's cause, whichever check met it."""
    if isinstance(error, ImportError):
        cause = LIBRARY
    frames = traceback.extract_tb(error.__traceback__)
    message = " ".join(str(error).split())[:_LONGEST]
    op = _OP.search(message)
    return Failure(
        check,
        cause,
        type(error).__name__,
        message,
        op=op[1] if op else "",
        line=_deepest(frames, _SOURCES),
        ours=_deepest([f for f in frames if _SWEEP not in f.filename], (_OURS,)),
        tail="".join(traceback.format_exception(error)[-_TAIL:])[-4 * _LONGEST :],
    )


def _deepest(frames: list[traceback.FrameSummary], folders: tuple[str, ...]) -> str:
    for frame in reversed(frames):
        for folder in folders:
            if folder in frame.filename:
                path = folder.strip("/") + "/" + frame.filename.rsplit(folder, 1)[1]
                return f"{path}:{frame.lineno} {frame.line or ''}".strip()
    return ""
