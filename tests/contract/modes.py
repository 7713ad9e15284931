"""The modes without differentiation: ways to call an operator, on both sides.

Each raises Difference, or whatever the device raised, or NotApplicable where the CPU has nothing
to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .calls import NotApplicable, agree, call, compare, reference
from .comparison import Difference, tensors
from .databases import Operator, Sample
from .sides import in_other, on_cpu, on_device, placed


def forward(operator: Operator, sample: Sample) -> None:
    compare(operator, sample, operator.function, operator.function)


def inplace(operator: Operator, sample: Sample) -> None:
    if operator.inplace is None or sample.broadcasts_input:
        raise NotApplicable
    compare(operator, sample, operator.inplace, operator.inplace)


def state_dict(operator: Operator, sample: Sample) -> None:
    """The result by way of a state_dict that went through a file."""
    if operator.restored is None:
        raise NotApplicable
    compare(operator, sample, operator.restored, operator.restored)


def out(operator: Operator, sample: Sample) -> None:
    """out= is the result, also where its memory order is another one."""
    if not operator.has_out:
        raise NotApplicable
    with torch.no_grad():
        results = reference(operator.function, on_cpu(sample))
    for make in (torch.clone, _gapped):
        _into(operator, sample, results, make)


def _into(operator: Operator, sample: Sample, results: Any, make: Callable) -> None:
    targets = [make(t) for t in tensors(results)]
    theirs = [placed(t, "cpu") for t in targets]
    ours = [placed(t, "neuron") for t in targets]
    with torch.no_grad():
        want = reference(operator.function, _with_out(on_cpu(sample), results, theirs))
        got = call(operator.function, _with_out(on_device(sample, operator.host), results, ours))

    def exact() -> Any:
        result = call(operator.function, in_other(sample))
        return result, result

    agree(operator, (got, ours), (want, theirs), sample, exact)


def _with_out(sample: Sample, results: Any, targets: list[torch.Tensor]) -> Sample:
    target = targets[0] if isinstance(results, torch.Tensor) else tuple(targets)
    return Sample(sample.args, {**sample.kwargs, "out": target})


def _gapped(tensor: torch.Tensor) -> torch.Tensor:
    """With room between the elements of its last dimension."""
    if not tensor.dim() or tensor.layout is not torch.strided:
        return tensor.clone()
    wide = tensor.repeat_interleave(2, dim=-1)
    return wide[..., ::2]


def errors(operator: Operator, sample: Sample) -> None:
    """The device raises the CPU's type of error."""
    try:
        call(operator.function, on_cpu(sample))
    except Exception as error:
        want = type(error)
    else:
        raise NotApplicable
    try:
        call(operator.function, on_device(sample, operator.host))
    except want:
        return
    raise Difference("error", f"did not raise {want.__name__}")
