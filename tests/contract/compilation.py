"""The modes under torch.compile: results, gradients, and symbolic sizes.

A sample is a graph of its own only where it has to be: `together` makes one graph of all samples of
an operator, because most of a small graph's time is not spent on its ops.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import torch
from torch._decomp.decompositions_for_rng import PhiloxStateTracker
from torch._dynamo import guards
from torch._dynamo.utils import counters
from torch.testing._internal import common_methods_invocations

import torch_neuronx

from .calls import NotApplicable, agree, differentiable, inputs, leaves
from .comparison import Difference, tensors
from .databases import Operator, Sample
from .sides import in_other, on_cpu, on_device, other_precision, placed

# The graph that AOTAutograd hands to every backend, run op by op: PyTorch's own tracing.
TRACED = "aot_eager"
# A function that Dynamo compiled more often than its limit runs eagerly.
UNLIMITED = 10**6

Cotangents = list[torch.Tensor]
# From a function of calls: for each side its results and arguments, or its gradients.
Measure = Callable[[Callable, list[Sample], list[Cotangents]], list[Any]]


def compiled(operator: Operator, sample: Sample) -> list[str]:
    forget()
    return _alone(_values, operator, sample)


def compiled_backward(operator: Operator, sample: Sample) -> list[str]:
    """Through the forward and the backward graph of AOTAutograd."""
    forget()
    return _alone(_gradients, operator, sample)


def dynamic(operator: Operator, sample: Sample) -> list[str]:
    """With symbolic sizes, and with what the samples before it left compiled."""
    return _alone(_values, operator, sample, dynamic=True)


def forget() -> None:
    """What was compiled before, and how."""
    torch._dynamo.reset()
    counters.clear()


def together(mode: str, operator: Operator, samples: list[Sample]) -> int | None:
    """How many of the samples the CPU accepts, if all these agree as one graph, else None."""
    if mode not in _TOGETHER or len(samples) < 2:
        return None
    forget()
    measure = _TOGETHER[mode]
    references = list(_accepted(measure, operator, samples))
    try:
        _compare(measure, operator, references, _compiled(operator.function))
    except Exception:
        return None
    return None if list(_breaks()) else len(references)


def _alone(
    measure: Measure, operator: Operator, sample: Sample, dynamic: bool = False
) -> list[str]:
    """The device is right where it is the CPU in eager mode, or the CPU under PyTorch's tracing.

    Returns remarks: graph breaks, what is due to the tracing, and why a graph with an op that runs
    on the host in eager mode too has no program.
    """
    reference = _reference(measure, _each(operator.function), sample)
    ours = _compiled(operator.function, dynamic=dynamic)
    try:
        _compare(measure, operator, [reference], ours)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if _is_tracings(error, measure, operator, sample, ours, dynamic):
            return [f"PyTorch's own tracing: {said}"]
        op_by_op = _compiled(operator.function, dynamic=dynamic, fallback_execution=True)
        _compare(measure, operator, [reference], op_by_op)
        if torch_neuronx.get_fallback_ops():
            return [f"not compiled: {said}"]
        raise
    return list(_breaks())


def _is_tracings(
    error: Exception,
    measure: Measure,
    operator: Operator,
    sample: Sample,
    ours: Callable,
    dynamic: bool,
) -> bool:
    """Whether the CPU differs from eager mode too when the call is traced."""
    theirs = _compiled(operator.function, TRACED, dynamic)
    try:
        reference = _reference(measure, theirs, sample)
    except NotApplicable as refused:
        return type(refused.__cause__) is type(error) and not isinstance(error, Difference)
    try:
        _compare(measure, operator, [reference], ours)
    except Exception:
        return False
    return True


def _compiled(
    function: Callable, backend: str = "neuron", dynamic: bool = False, **options: bool
) -> Callable:
    torch._dynamo.config.recompile_limit = UNLIMITED
    torch._dynamo.config.accumulated_recompile_limit = UNLIMITED
    return torch.compile(_each(function), backend=backend, dynamic=dynamic, options=options or None)


def _each(function: Callable) -> Callable:
    return lambda calls: [function(*args, **kwargs) for args, kwargs in calls]


def _breaks() -> Iterator[str]:
    """Why what ran since `forget` is not one graph."""
    for reason in counters["graph_break"]:
        yield "graph break: " + " ".join(reason.split())
    if not counters["stats"]["unique_graphs"]:
        yield "no graph"


@dataclass
class _Reference:
    """What the CPU says of a sample."""

    sample: Sample
    want: Any
    cotangents: Cotangents = field(default_factory=list)


def _accepted(measure: Measure, operator: Operator, samples: list[Sample]) -> Iterator[_Reference]:
    for sample in samples:
        try:
            yield _reference(measure, _each(operator.function), sample)
        except NotApplicable:
            continue


def _reference(measure: Measure, function: Callable, sample: Sample) -> _Reference:
    """Raises NotApplicable where the CPU refuses the call, or has no gradient of it."""
    try:
        cotangents = _cotangents(function, sample) if measure is _gradients else []
        (want,) = measure(function, [on_cpu(sample)], [cotangents])
    except Exception as error:
        raise NotApplicable from error
    return _Reference(sample, want, cotangents)


def _compare(
    measure: Measure, operator: Operator, references: list[_Reference], ours: Callable
) -> None:
    sides = [on_device(r.sample, operator.host) for r in references]
    cotangents = [[placed(t, "neuron") for t in r.cotangents] for r in references]
    for reference, got in zip(references, measure(ours, sides, cotangents), strict=True):
        exact = _in_other(measure, operator, reference)
        sample = reference.sample
        if operator.traced_steps is not None:
            sample = replace(sample, steps=operator.traced_steps)
        agree(operator, got, reference.want, sample, exact)


def _in_other(measure: Measure, operator: Operator, reference: _Reference) -> Callable[[], Any]:
    def exact() -> Any:
        cotangents = [other_precision(reference.sample)(t) for t in reference.cotangents]
        return measure(_each(operator.function), [in_other(reference.sample)], [cotangents])[0]

    return exact


def _values(function: Callable, sides: list[Sample], _: list[Cotangents]) -> list[Any]:
    with torch.no_grad():
        return list(zip(_call(function, sides), map(_arguments, sides), strict=True))


def _gradients(function: Callable, sides: list[Sample], given: list[Cotangents]) -> list[Any]:
    results = _call(function, sides)
    outputs = [t for pair in zip(sides, results, strict=True) for t in differentiable(*pair)]
    wanted = [leaves(side) for side in sides]
    found = torch.autograd.grad(outputs, tensors(wanted), tensors(given), allow_unused=True)
    remaining = iter(found)
    return [[next(remaining) for _ in mine] for mine in wanted]


_TOGETHER: dict[str, Measure] = {"compiled": _values, "compiled_backward": _gradients}


def _cotangents(function: Callable, sample: Sample) -> Cotangents:
    """Random ones. Raises ValueError where nothing is differentiable."""
    side = on_cpu(sample)
    (result,) = _call(function, [side])
    made = [torch.randn_like(t) for t in differentiable(side, result)]
    if not made or not leaves(side):
        raise ValueError("there is no gradient")
    return made


def _call(function: Callable, sides: list[Sample]) -> list[Any]:
    torch.manual_seed(0)
    with contextlib.ExitStack() as patches:
        for owner, name, plain in _PATCHES:
            patches.enter_context(mock.patch.object(owner, name, plain))
        return function([inputs(side) for side in sides])


_PATCHES: tuple[tuple[Any, str, Callable], ...] = (
    # The descriptions of random operators save and set the seed, which breaks a graph.
    (common_methods_invocations, "wrapper_set_seed", lambda op, *args, **kw: op(*args, **kw)),
    # A fifth of a small graph's time: guards are timed, a state that stays unused is made.
    (guards, "profile_guard_manager", lambda *_: 0.0),
    (PhiloxStateTracker, "reset", lambda: None),
)


def _arguments(side: Sample) -> list[torch.Tensor]:
    return tensors(inputs(side))
