"""How the modes call an operator and compare the results of its two sides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from . import undetermined
from .comparison import same, tensors
from .databases import Operator, Sample
from .sides import in_other, on_cpu, on_device


class NotApplicable(Exception):
    """The CPU refuses the call too, or the mode means nothing for this sample."""


def compare(operator: Operator, sample: Sample, theirs: Callable, ours: Callable) -> None:
    """The same result, and the same arguments afterwards."""
    with torch.no_grad():
        want = reference(_and_inputs(theirs), on_cpu(sample))
        got = call(_and_inputs(ours), on_device(sample, operator.host))
        agree(operator, got, want, sample, lambda: call(_and_inputs(theirs), in_other(sample)))


def _and_inputs(function: Callable) -> Callable:
    return lambda *args, **kwargs: (function(*args, **kwargs), tensors((args, kwargs)))


def reference(function: Callable, sample: Sample) -> Any:
    """What the CPU returns. Raises NotApplicable when it refuses."""
    try:
        return call(function, sample)
    except Exception as error:
        raise NotApplicable from error


def call(function: Callable, sample: Sample) -> Any:
    torch.manual_seed(0)
    return function(*sample.args, **sample.kwargs)


def agree(operator: Operator, got: Any, want: Any, sample: Sample, exact: Callable) -> None:
    """Raises Difference; `exact()` is the result in another precision."""
    part = functools.partial(undetermined.determined, operator.name, sample)
    same(got, want, (inputs(sample), sample.steps), part, exact)


def inputs(sample: Sample) -> Any:
    return sample.args, sample.kwargs


def leaves(sample: Sample) -> list[torch.Tensor]:
    """The arguments that gradients are asked for."""
    return [t for t in tensors(inputs(sample)) if t.requires_grad]


def differentiable(sample: Sample, result: Any) -> list[torch.Tensor]:
    """The results that a backward pass starts from."""
    return [t for t in tensors(sample.differentiable(result)) if t.requires_grad]
