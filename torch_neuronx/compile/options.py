"""The options of torch.compile(backend="neuron", options={...}) and what stands in for `mode`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from torch_neuronx.runtime import config

_next_name: list[str] = []


@dataclass(frozen=True)
class Options:
    """fallback_execution: a graph that cannot be lowered runs eagerly, with a warning, instead of
    raising. model_name: names the compiled graphs in explain(), errors and artifacts.
    """

    fallback_execution: bool
    model_name: str


def parse(mode: str | None, options: Mapping[str, Any] | None) -> Options:
    """Raises ValueError for an unknown option, TypeError for a value of the wrong type."""
    if mode not in (None, "default"):
        _warn_of_mode(mode)
    given = dict(options or {})
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            raise ValueError(
                f"torch.compile(backend='neuron') has no option {name!r}, only "
                f"{' and '.join(known)}."
            )
    default = not config.DISABLE_FALLBACK_EXECUTION.value()
    return Options(
        _checked("fallback_execution", given.get("fallback_execution", default), bool),
        _checked("model_name", given.get("model_name", _take_name()), str),
    )


def set_model_name(name: str) -> None:
    """Names the next graph that torch.compile(backend="neuron") compiles."""
    _next_name[:] = [_checked("model_name", name, str)]


def _take_name() -> str:
    return _next_name.pop() if _next_name else ""


def _checked(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(
            f"option {name!r} of torch.compile(backend='neuron') takes a {kind.__name__}, "
            f"got {value!r}."
        )
    return value


@functools.cache
def _warn_of_mode(mode: str) -> None:
    warnings.warn(
        f"torch.compile(backend='neuron') has one mode; mode={mode!r} acts as 'default'.",
        stacklevel=2,
    )
