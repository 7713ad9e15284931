"""One operator, dtype and mode: every sample on both sides, compared.

A mode is a way to call the operator. A check raises Difference, or whatever the device raised, or
NotApplicable where the CPU has nothing to compare with. `check` runs a mode over the samples.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

import torch_neuronx

from . import compilation, undetermined
from .calls import NotApplicable
from .comparison import Difference, same, tensors, worst
from .databases import Operator, Sample
from .sides import double, in_double, on_cpu, on_device, placed

LONGEST_DETAIL = 400


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


def forward(operator: Operator, sample: Sample) -> None:
    _compare(operator, sample, operator.function, operator.function)


def inplace(operator: Operator, sample: Sample) -> None:
    if operator.inplace is None or sample.broadcasts_input:
        raise NotApplicable
    _compare(operator, sample, operator.inplace, operator.inplace)


def _compare(operator: Operator, sample: Sample, theirs: Callable, ours: Callable) -> None:
    """The same result, and the same arguments afterwards."""
    with torch.no_grad():
        want = _reference(_and_inputs(theirs), on_cpu(sample))
        got = _call(_and_inputs(ours), on_device(sample, operator.host))
        _same(operator, got, want, sample, lambda: _call(_and_inputs(theirs), in_double(sample)))


def _and_inputs(function: Callable) -> Callable:
    return lambda *args, **kwargs: (function(*args, **kwargs), tensors((args, kwargs)))


def out(operator: Operator, sample: Sample) -> None:
    """out= is the result, also where its memory order is another one."""
    if not operator.has_out:
        raise NotApplicable
    with torch.no_grad():
        results = _reference(operator.function, on_cpu(sample))
    for make in (torch.clone, _gapped):
        _into(operator, sample, results, make)


def _into(operator: Operator, sample: Sample, results: Any, make: Callable) -> None:
    targets = [make(t) for t in tensors(results)]
    theirs = [placed(t, "cpu") for t in targets]
    ours = [placed(t, "neuron") for t in targets]
    with torch.no_grad():
        want = _reference(operator.function, _with_out(on_cpu(sample), results, theirs))
        got = _call(operator.function, _with_out(on_device(sample, operator.host), results, ours))

    def exact() -> Any:
        result = _call(operator.function, in_double(sample))
        return result, result

    _same(operator, (got, ours), (want, theirs), sample, exact)


def _with_out(sample: Sample, results: Any, targets: list[torch.Tensor]) -> Sample:
    target = targets[0] if isinstance(results, torch.Tensor) else tuple(targets)
    return Sample(sample.args, {**sample.kwargs, "out": target})


def _gapped(tensor: torch.Tensor) -> torch.Tensor:
    """With room between the elements of its last dimension."""
    if not tensor.dim():
        return tensor.clone()
    wide = tensor.repeat_interleave(2, dim=-1)
    return wide[..., ::2]


def backward(operator: Operator, sample: Sample) -> None:
    """Gradients of all differentiable results, from fixed cotangents, for all such inputs."""
    cpu, device = on_cpu(sample), on_device(sample, operator.host)
    if not _leaves(cpu):
        raise NotApplicable
    theirs = _reference(operator.function, cpu)
    cotangents = [torch.randn_like(t) for t in _differentiable(cpu, theirs)]
    if not cotangents:
        raise NotApplicable
    try:
        want = _gradients(cpu, theirs, cotangents)
    except Exception as error:
        raise NotApplicable from error
    given = [placed(t, "neuron") for t in cotangents]
    got = _gradients(device, _call(operator.function, device), given)

    def exact() -> Any:
        wide = in_double(sample)
        return _gradients(wide, _call(operator.function, wide), [double(t) for t in cotangents])

    _same(operator, got, want, sample, exact)


def _gradients(sample: Sample, result: Any, cotangents: list[torch.Tensor]) -> Any:
    outputs = _differentiable(sample, result)
    return torch.autograd.grad(outputs, _leaves(sample), cotangents, allow_unused=True)


def _differentiable(sample: Sample, result: Any) -> list[torch.Tensor]:
    return [t for t in tensors(sample.differentiable(result)) if t.requires_grad]


def _leaves(sample: Sample) -> list[torch.Tensor]:
    return [t for t in tensors(_inputs(sample)) if t.requires_grad]


def _inputs(sample: Sample) -> Any:
    return sample.args, sample.kwargs


def errors(operator: Operator, sample: Sample) -> None:
    """The device raises the CPU's type of error."""
    try:
        _call(operator.function, on_cpu(sample))
    except Exception as error:
        want = type(error)
    else:
        raise NotApplicable
    try:
        _call(operator.function, on_device(sample, operator.host))
    except want:
        return
    raise Difference("error", f"did not raise {want.__name__}")


def _reference(function: Callable, sample: Sample) -> Any:
    try:
        return _call(function, sample)
    except Exception as error:
        raise NotApplicable from error


def _call(function: Callable, sample: Sample) -> Any:
    torch.manual_seed(0)
    return function(*sample.args, **sample.kwargs)


def _same(operator: Operator, got: Any, want: Any, sample: Sample, exact: Callable) -> None:
    part = functools.partial(undetermined.determined, operator.name, sample)
    same(got, want, _inputs(sample), part, exact)


MODES: dict[str, Callable[[Operator, Sample], list[str] | None]] = {
    "forward": forward,
    "backward": backward,
    "out": out,
    "inplace": inplace,
    "compiled": compilation.compiled,
    "compiled_backward": compilation.compiled_backward,
    "dynamic": compilation.dynamic,
    "errors": errors,
}
DIFFERENTIATES = ("backward", "compiled_backward")


def is_meant(operator: Operator, dtype: torch.dtype, mode: str) -> bool:
    """Whether PyTorch's CPU kernels have this operator in this dtype and mode."""
    dtypes = operator.backward_dtypes if mode in DIFFERENTIATES else operator.dtypes
    has_mode = {
        "out": operator.has_out,
        "inplace": operator.inplace is not None,
        "errors": operator.errors is not None,
    }
    return dtype in dtypes and has_mode.get(mode, True)


def check(operator: Operator, dtype: torch.dtype, mode: str, limit: int | None = None) -> Outcome:
    """`limit` is the number of samples, None for all of them."""
    torch_neuronx.clear_op_tracking()
    compilation.forget()
    outcome = Outcome()
    samples = list(itertools.islice(_samples(operator, dtype, mode), limit))
    agree = compilation.together(mode, operator, samples)
    if agree is not None:
        outcome.samples, samples = agree, []
    for number, sample in enumerate(samples):
        try:
            for remark in MODES[mode](operator, sample) or ():
                outcome.remarks.setdefault(" ".join(remark.split())[:LONGEST_DETAIL], number)
        except NotApplicable:
            continue
        except Exception as error:
            outcome.failures.append((number, _kind(error), _detail(error)))
        outcome.samples += 1
    if outcome.samples:
        outcome.verdict = worst(kind for _, kind, _ in outcome.failures)
    reasons = torch_neuronx.explain().fallbacks
    outcome.host = {op: reasons.get(op, "") for op in torch_neuronx.get_fallback_ops()}
    return outcome


def _samples(operator: Operator, dtype: torch.dtype, mode: str) -> Iterator[Sample]:
    if mode == "errors":
        assert operator.errors is not None
        return operator.errors()
    return operator.samples(dtype, mode in DIFFERENTIATES)


def _kind(error: Exception) -> str:
    return error.kind if isinstance(error, Difference) else "error"


def _detail(error: Exception) -> str:
    text = str(error) if isinstance(error, Difference) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:LONGEST_DETAIL]
