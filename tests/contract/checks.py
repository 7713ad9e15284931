"""One operator, dtype and mode: every sample on both sides, compared.

A mode is a way to call the operator: `modes`, `gradients` and `layouts` have them. `check` runs one
over the samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

import torch_neuronx

from . import compilation
from .calls import NotApplicable
from .comparison import Difference, worst
from .databases import Operator, Sample
from .gradients import backward, backward_each, gradgrad, jvp
from .layouts import channels_last, noncontiguous, vmap
from .modes import errors, forward, inplace, out, state_dict

LONGEST_DETAIL = 400
GROUP = 8  # samples that a mode may check in one go


@dataclass
class Outcome:
    """`verdict` is the gravest kind of `failures`, each of which is (sample, kind, detail).

    `host` has the reason of each ATen op that ran there, `remarks` what else is to be known of
    calls that are right, with the first such sample.
    """

    verdict: str = "skipped"
    samples: int = 0
    host: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, int] = field(default_factory=dict)
    failures: list[tuple[int, str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


MODES: dict[str, Callable[[Operator, Sample], list[str] | None]] = {
    "forward": forward,
    "backward": backward,
    "backward_each": backward_each,
    "out": out,
    "inplace": inplace,
    "compiled": compilation.compiled,
    "compiled_backward": compilation.compiled_backward,
    "dynamic": compilation.dynamic,
    "errors": errors,
    "gradgrad": gradgrad,
    "jvp": jvp,
    "noncontiguous": noncontiguous,
    "channels_last": channels_last,
    "vmap": vmap,
    "state_dict": state_dict,
}
DIFFERENTIATING = ("backward", "backward_each", "compiled_backward", "gradgrad", "jvp")


def is_meant(operator: Operator, dtype: torch.dtype, mode: str) -> bool:
    """Whether PyTorch's CPU kernels have this operator in this dtype and mode.

    Calls that must raise choose their dtypes themselves: they are checked under one.
    """
    dtypes = operator.backward_dtypes if mode in DIFFERENTIATING else operator.dtypes
    has_mode = {
        "out": operator.has_out,
        "inplace": operator.inplace is not None,
        "errors": operator.errors is not None and dtype is _first(operator.dtypes),
        "gradgrad": operator.has_gradgrad,
        "jvp": operator.has_jvp,
        "state_dict": operator.restored is not None,
    }
    return dtype in dtypes and has_mode.get(mode, True)


def _first(dtypes: frozenset[torch.dtype]) -> torch.dtype:
    return torch.float32 if torch.float32 in dtypes else min(dtypes, key=str)


def check(operator: Operator, dtype: torch.dtype, mode: str, limit: int | None = None) -> Outcome:
    """`limit` is the number of samples that the mode applies to, None for all of them."""
    torch_neuronx.clear_op_tracking()
    compilation.forget()
    outcome = Outcome()
    rest, number = _samples(operator, dtype, mode), 0
    while outcome.samples != limit:
        wanted = GROUP if limit is None else min(GROUP, limit - outcome.samples)
        try:
            group = list(itertools.islice(rest, wanted))
        except Exception as error:
            if number:
                raise
            # On the CPU, and of the first one: PyTorch declares this dtype, but cannot sample it.
            outcome.remarks[f"no samples: {error}"] = number
            break
        if not group:
            break
        agree = compilation.together(mode, operator, group)
        if agree is None:
            _one_by_one(outcome, operator, mode, enumerate(group, number))
        else:
            outcome.samples += agree
        number += len(group)
    if outcome.samples:
        outcome.verdict = worst(kind for _, kind, _ in outcome.failures)
    reasons = torch_neuronx.explain().fallbacks
    outcome.host = {op: reasons.get(op, "") for op in torch_neuronx.get_fallback_ops()}
    return outcome


def _one_by_one(
    outcome: Outcome, operator: Operator, mode: str, samples: Iterable[tuple[int, Sample]]
) -> None:
    for number, sample in samples:
        try:
            for remark in MODES[mode](operator, sample) or ():
                outcome.remarks.setdefault(" ".join(remark.split())[:LONGEST_DETAIL], number)
        except NotApplicable:
            continue
        except Exception as error:
            outcome.failures.append((number, _kind(error), _detail(error)))
        outcome.samples += 1


def _samples(operator: Operator, dtype: torch.dtype, mode: str) -> Iterator[Sample]:
    if mode == "errors":
        assert operator.errors is not None
        return operator.errors()
    return operator.samples(dtype, _requires_grad(operator, dtype, mode))


def _requires_grad(operator: Operator, dtype: torch.dtype, mode: str) -> bool:
    """The modes of layout go backward too where that is possible."""
    is_possible = dtype in operator.backward_dtypes
    return mode in DIFFERENTIATING or (is_possible and mode in ("noncontiguous", "channels_last"))


def _kind(error: Exception) -> str:
    if isinstance(error, NotImplementedError) and "devices have no element type" in str(error):
        return "unsupported"
    return error.kind if isinstance(error, Difference) else "error"


def _detail(error: Exception) -> str:
    text = str(error) if isinstance(error, Difference) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:LONGEST_DETAIL]
