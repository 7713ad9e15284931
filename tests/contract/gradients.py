"""The modes of differentiation: backward, twice backward, and forward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_map

from .calls import NotApplicable, agree, call, differentiable, inputs, leaves, reference
from .comparison import tensors
from .databases import Operator, Sample
from .sides import in_other, on_cpu, on_device, other_precision, placed

Tensors = list[torch.Tensor]


def backward(operator: Operator, sample: Sample) -> None:
    """Gradients of all differentiable results, from fixed cotangents, for all such inputs."""
    _backward(operator, sample, slice(None))


def backward_each(operator: Operator, sample: Sample) -> None:
    """The gradient of each input alone, as where all others are constants: a kernel that makes
    several gradients is then asked for one."""
    count = len(leaves(sample))
    compared = 0
    for place in range(count if count > 1 else 0):
        with contextlib.suppress(NotApplicable):
            _backward(operator, sample, slice(place, place + 1))
            compared += 1
    if not compared:
        raise NotApplicable


def _backward(operator: Operator, sample: Sample, wanted: slice) -> None:
    """`wanted`: which of the inputs that could have a gradient have one."""
    cpu = _with_gradients(on_cpu(sample), wanted)
    theirs = reference(operator.function, cpu)
    cotangents = _randoms(differentiable(cpu, theirs))
    want = _refused(_gradients, cpu, theirs, cotangents)
    device = _with_gradients(on_device(sample, operator.host), wanted)
    given = [placed(t, "neuron") for t in cotangents]
    got = _gradients(device, call(operator.function, device), given)

    def exact() -> Any:
        convert = other_precision(sample)
        other = _with_gradients(in_other(sample), wanted)
        return _gradients(other, call(operator.function, other), [convert(t) for t in cotangents])

    agree(operator, got, want, sample, exact)


def _with_gradients(side: Sample, wanted: slice) -> Sample:
    found = leaves(side)
    for constant in set(found).difference(found[wanted]):
        constant.requires_grad = False  # the method is not there for parameters of lazy modules
    return side


def gradgrad(operator: Operator, sample: Sample) -> None:
    """Gradients of the gradients, for the inputs and for the first pass's cotangents."""
    cpu = on_cpu(sample)
    theirs = reference(operator.function, cpu)
    first = _randoms(differentiable(cpu, theirs))
    graph = _refused(_gradients, cpu, theirs, _leaves_like(first, "cpu"), create_graph=True)
    second = _randoms(t for t in tensors(graph) if t.requires_grad)

    def run(side: Sample, move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        cotangents = [move(t).requires_grad_() for t in first]
        result = call(operator.function, side)
        graph = _gradients(side, result, cotangents, create_graph=True)
        outputs = [t for t in tensors(graph) if t.requires_grad]
        wanted = [*leaves(side), *cotangents]
        return torch.autograd.grad(outputs, wanted, [move(t) for t in second], allow_unused=True)

    want = _refused(run, on_cpu(sample), lambda t: placed(t, "cpu"))
    got = run(on_device(sample, operator.host), lambda t: placed(t, "neuron"))
    agree(operator, got, want, sample, lambda: run(in_other(sample), other_precision(sample)))


def jvp(operator: Operator, sample: Sample) -> None:
    """Forward-mode derivatives along fixed directions, and the result with them."""
    directions = {id(t): _random_like(t) for t in leaves(sample)}
    if not directions:
        raise NotApplicable

    def tangents(move: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor | None]:
        """In the order of the sample's tensors, because a side's tensors are others."""
        found = (directions.get(id(t)) for t in tensors(inputs(sample)))
        return [None if t is None else move(t) for t in found]

    def cpu(t: torch.Tensor) -> torch.Tensor:
        return placed(t, "cpu")

    def device(t: torch.Tensor) -> torch.Tensor:
        return placed(t, "neuron")

    want = _refused(_pushed_forward, operator, on_cpu(sample), tangents(cpu))
    got = _pushed_forward(operator, on_device(sample, operator.host), tangents(device))

    def exact() -> Any:
        return _pushed_forward(operator, in_other(sample), tangents(other_precision(sample)))

    agree(operator, got, want, sample, exact)


def _pushed_forward(operator: Operator, side: Sample, tangents: list[torch.Tensor | None]) -> Any:
    remaining = iter(tangents)

    def dual(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        tangent = next(remaining)
        return value if tangent is None else forward_ad.make_dual(value.detach(), tangent)

    with forward_ad.dual_level():
        args, kwargs = tree_map(dual, inputs(side))
        result = call(operator.function, Sample(args, kwargs))
        pairs = [forward_ad.unpack_dual(t) for t in tensors(result)]
    if all(pair.tangent is None for pair in pairs):
        raise NotApplicable
    return [tuple(pair) for pair in pairs]


def _gradients(
    sample: Sample, result: Any, cotangents: Tensors, create_graph: bool = False
) -> tuple[torch.Tensor | None, ...]:
    outputs = differentiable(sample, result)
    return torch.autograd.grad(
        outputs, leaves(sample), cotangents, allow_unused=True, create_graph=create_graph
    )


def _refused(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """What the CPU returns. Raises NotApplicable when it refuses."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise NotApplicable from error


def _randoms(like: Any) -> Tensors:
    """Fixed numbers. Raises NotApplicable when there are none to make."""
    made = [_random_like(t) for t in like]
    if not made:
        raise NotApplicable
    return made


def _random_like(tensor: torch.Tensor) -> torch.Tensor:
    """Of its pattern where it is a COO tensor, for which PyTorch has no randn_like."""
    if tensor.layout is not torch.sparse_coo:
        return torch.randn_like(tensor)
    tensor = tensor.detach().coalesce()
    values = torch.randn_like(tensor.values())
    return torch.sparse_coo_tensor(tensor.indices(), values, tensor.shape, is_coalesced=True)


def _leaves_like(given: Tensors, device: str) -> Tensors:
    return [placed(t, device).requires_grad_() for t in given]
