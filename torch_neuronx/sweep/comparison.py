"""Whether two runs of a model agree: one tolerance for all, derived from the model.

A float32 result may differ by the roundings of the layers on its way: each layer's dot products
of n terms err by about sqrt(n) eps, and the errors of the layers add up. Where a result is
further off, the model runs on the CPU in float64, and in float32 with the roundings of its ops
moved; the device may be as far from float64 as such runs get. So a cancellation, or a choice
between two experts that are as good as equal, is measured and not guessed at. NaN, infinities and
integers must be equal.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_neuronx.sweep.roundings import ROUNDINGS

Tensors = dict[str, torch.Tensor]
_SAMPLED = 2  # the furthest of a few runs with moved roundings is not the furthest of all


@dataclass(frozen=True)
class Judges:
    """What the CPU gives in float64, or in float32 where the model does not run in float64, and
    what in float32 with moved roundings."""

    exact: Tensors
    moved: Sequence[Tensors]
    precision: str = "float64"


@dataclass(frozen=True)
class Tolerance:
    """`relative`: to the largest magnitude of a tensor. `noise`: to that of the largest tensor,
    for tensors that would be zero but for roundings, such as the gradient of a key's bias."""

    relative: float
    noise: float


def tolerance(model: nn.Module, passes: int = 1) -> Tolerance:
    """For results of `passes` passes through the model: 1 for the forward, 3 for a gradient, whose
    backward pass has two products per layer."""
    layers = sum(1 for module in model.modules() if any(True for _ in module.parameters(False)))
    terms = max((p[0].numel() for p in model.parameters() if p.dim() > 1 and len(p)), default=1)
    eps = torch.finfo(torch.float32).eps
    return Tolerance(eps * passes * max(layers, 1) * math.sqrt(terms), eps * math.sqrt(terms))


def tensors(value: Any, path: str = "") -> Tensors:
    """The tensors in what a model returns, by where they are. Caches are left out: what they hold
    is judged by the tokens that are generated with them."""
    if isinstance(value, torch.Tensor):
        return {path or "output": value}
    if isinstance(value, Mapping):
        items: Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = vars(value).items()
    else:
        return {}
    found: Tensors = {}
    for key, item in items:
        found.update(tensors(item, f"{path}.{key}" if path else str(key)))
    return found


def difference(
    got: Tensors,
    want: Tensors,
    allowed: Tolerance,
    judges: Callable[[], Judges | None] = lambda: None,
) -> str:
    """A sentence on the first tensor that is wrong; empty where all agree.

    `judges` is called only when the roundings that `allowed` knows do not explain what differs;
    None where there are none.
    """
    if got.keys() != want.keys():
        return f"other results: {sorted(got)} instead of {sorted(want)}"
    largest = max((_magnitude(tensor) for tensor in want.values()), default=0.0)
    called: list[Judges | None] = []
    for name, wanted in want.items():
        given = got[name].detach().cpu()
        wanted = wanted.detach().cpu()
        found = _metadata(given, wanted) or _special(given, wanted)
        if found:
            return f"{name}: {found}"
        error = _error(given, wanted)
        limit = allowed.relative * _magnitude(wanted) + allowed.noise * largest
        if error <= limit:
            continue
        if not called:
            called.append(judges())
        judged = _judged(name, given, wanted, called[0], limit)
        if judged:
            return f"{name}: off by {error:.2e} where {limit:.2e} is allowed{judged}"
    return ""


def _judged(
    name: str, given: torch.Tensor, wanted: torch.Tensor, judges: Judges | None, limit: float
) -> str:
    """Empty where float64 clears the device of what differs; else what it says."""
    if judges is None or name not in judges.exact or judges.exact[name].shape != given.shape:
        return "; the CPU's own roundings are not known"
    exact = judges.exact[name]
    ours, theirs = _error(given, exact), _error(wanted, exact)
    moved = max((_error(other[name], exact) for other in judges.moved if name in other), default=0)
    if ours <= max(ROUNDINGS * theirs, _SAMPLED * moved, limit):
        return ""
    return (
        f"; from {judges.precision} the device is off by {ours:.2e}, the CPU by {theirs:.2e}, by "
        f"{moved:.2e} with its roundings moved"
    )


def _metadata(given: torch.Tensor, wanted: torch.Tensor) -> str:
    for what in ("dtype", "shape"):
        if getattr(given, what) != getattr(wanted, what):
            return f"{what} {getattr(given, what)} instead of {getattr(wanted, what)}"
    return ""


def _special(given: torch.Tensor, wanted: torch.Tensor) -> str:
    """What cannot be a rounding: integers, and where NaN and infinities are."""
    if not (wanted.is_floating_point() or wanted.is_complex()):
        count = int((given != wanted).sum())
        return f"{count} of {wanted.numel()} integers differ" if count else ""
    if not torch.equal(torch.isnan(given), torch.isnan(wanted)):
        return f"{int(torch.isnan(given).sum())} NaN instead of {int(torch.isnan(wanted).sum())}"
    infinite = torch.isinf(wanted)
    if not torch.equal(infinite, torch.isinf(given)) or not torch.equal(
        given[infinite], wanted[infinite]
    ):
        return "infinities differ"
    return ""


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    return torch.nan_to_num(tensor.detach().cpu().to(wide), 0.0, 0.0, 0.0)


def _error(given: torch.Tensor, wanted: torch.Tensor) -> float:
    if not given.numel():
        return 0.0
    return float((_finite(given) - _finite(wanted)).abs().max())


def _magnitude(tensor: torch.Tensor) -> float:
    return float(_finite(tensor).abs().max()) if tensor.numel() else 0.0


def is_finite(values: Tensors) -> bool:
    """Whether there is a number to compare."""
    floats = [v for v in values.values() if v.is_floating_point() and v.numel()]
    return not floats or any(bool(torch.isfinite(v).any()) for v in floats)
