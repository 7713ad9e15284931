"""The database of torch.optim: every optimizer in every implementation that it has.

A call is STEPS steps from given parameters with given gradients; its result is the parameters and
the optimizer's state. `Adam` leaves the choice of an implementation to PyTorch, `Adam.single` is
the one that goes parameter by parameter, `Adam.foreach`, `Adam.fused`, `Adam.capturable` and
`Adam.differentiable` are those of these arguments.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing import make_tensor
from torch.testing._internal.common_optimizers import OptimizerInfo, optim_db
from torch.testing._internal.common_utils import set_rng_seed

from .databases import Operator, Sample

STEPS = 3
SHAPES = ((3, 4), (2, 2), (5, 1))  # matrices, because Muon takes nothing else
# A step that is counted on the device, as in a graph, is a float32, and so are its powers.
COUNTER = torch.zeros(())
DTYPES = frozenset({torch.float32, torch.float64, torch.bfloat16, torch.float16})

# Whose configurations they are: PyTorch tests capturable on CUDA, a tensor as lr on MPS.
CONFIGURED_FOR = ("cpu", "cuda", "mps")

# Variant -> the arguments that choose it.
VARIANTS: dict[str, dict[str, bool]] = {
    "": {},
    "single": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "capturable": {"capturable": True, "foreach": False},
    "capturable_foreach": {"capturable": True, "foreach": True},
    "differentiable": {"differentiable": True, "foreach": False},
}


def optimizers() -> list[Operator]:
    return [
        _operator(info, variant, flags)
        for info in optim_db
        for variant, flags in VARIANTS.items()
        if _has(info, flags)
    ]


def _has(info: OptimizerInfo, flags: dict[str, bool]) -> bool:
    return all(
        info.has_capturable_arg if flag == "capturable" else flag in info.supported_impls
        for flag in flags
    )


def _operator(info: OptimizerInfo, variant: str, flags: dict[str, bool]) -> Operator:
    run = functools.partial(_stepped, info)
    return Operator(
        name=f"{info.name}.{variant}" if variant else info.name,
        function=run,
        samples=functools.partial(_samples, info, flags),
        dtypes=DTYPES,
        backward_dtypes=DTYPES if "differentiable" in flags else frozenset(),
        restored=None if "differentiable" in flags else functools.partial(run, restored=True),
        errors=None if variant else functools.partial(_errors, info),
        traced_steps=COUNTER,
    )


def _samples(
    info: OptimizerInfo, flags: dict[str, bool], dtype: torch.dtype, requires_grad: bool
) -> Iterator[Sample]:
    iterations = {"max_iter": 2} if info.step_requires_closure else {}
    for kwargs in _configurations(info, capturable="capturable" in flags):
        set_rng_seed(0)
        tensors = functools.partial(_tensors, dtype, requires_grad)
        args = (tensors(), [tensors() for _ in range(STEPS)])
        steps = COUNTER if "capturable" in flags else None
        yield Sample(args, {**kwargs, **flags, **iterations}, steps=steps)


def _configurations(info: OptimizerInfo, capturable: bool) -> list[dict[str, Any]]:
    inputs = {i.desc: i.kwargs for d in CONFIGURED_FOR for i in info.optim_inputs_func(d)}
    return [kwargs for kwargs in inputs.values() if kwargs.get("capturable", False) == capturable]


def _tensors(dtype: torch.dtype, requires_grad: bool) -> list[torch.Tensor]:
    make = functools.partial(make_tensor, device="cpu", dtype=dtype, requires_grad=requires_grad)
    return [make(shape, low=-2, high=2) for shape in SHAPES]


def _errors(info: OptimizerInfo) -> Iterator[Sample]:
    for error in info.optim_error_inputs_func("cpu", torch.float32):
        given = error.optimizer_error_input
        tensors = functools.partial(_tensors, torch.float32, False)
        params = tensors() if given.params is None else given.params
        yield Sample((params, [tensors() for _ in range(STEPS)]), given.kwargs)


def _stepped(
    info: OptimizerInfo,
    params: Any,
    gradients: list[list[torch.Tensor]],
    restored: bool = False,
    **kwargs: Any,
) -> Any:
    """The parameters after the steps, and what the optimizer keeps of each.

    With `restored`, another optimizer makes the last step, from a saved and loaded state_dict.
    """
    if isinstance(params, list) and all(isinstance(p, torch.Tensor) for p in params):
        params, kwargs = _parameters(params, kwargs), _for_device(params, kwargs)
    optimizer = _made(info, params, kwargs)
    for number, wanted in enumerate(gradients):
        if restored and number == STEPS - 1:
            optimizer = _reloaded(optimizer, _made(info, params, kwargs))
        _step(info, optimizer, params, wanted)
    return [p.detach() if p.is_leaf else p for p in params], _states(optimizer, params)


# What is compiled of an optimizer is its steps.
@torch._dynamo.disable
def _made(info: OptimizerInfo, params: Any, kwargs: dict[str, Any]) -> Any:
    return info.optim_cls(params, **kwargs)


def _parameters(params: list[torch.Tensor], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Copies, because a step writes; not leaves where a gradient is to flow through the step."""
    if kwargs.get("differentiable"):
        return [p.clone() for p in params]
    return [p.detach().clone().requires_grad_() for p in params]


def _for_device(params: list[torch.Tensor], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The CPU computes what capturable=True computes elsewhere without that argument."""
    if params[0].device.type != "cpu" or not kwargs.get("capturable"):
        return kwargs
    return {**kwargs, "capturable": False, "foreach": False}


def _step(info: OptimizerInfo, optimizer: Any, params: Any, gradients: list[torch.Tensor]) -> None:
    if info.step_requires_closure:
        optimizer.step(functools.partial(_closure, optimizer, params, gradients))
        return
    for param, gradient in zip(params, gradients, strict=True):
        param.grad = gradient.to_sparse() if info.only_supports_sparse_grads else gradient.clone()
    optimizer.step()


@torch.enable_grad()
def _closure(optimizer: Any, params: Any, targets: list[torch.Tensor]) -> torch.Tensor:
    """A quadratic with many curvatures, of which a few iterations do not find the minimum: there
    the next direction would be noise."""
    optimizer.zero_grad()
    pairs = zip(params, targets, strict=True)
    loss = sum(((p - t).square() * (1 + t.square())).sum() for p, t in pairs)
    loss.backward()
    return loss


def _reloaded(optimizer: Any, fresh: Any) -> Any:
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    fresh.load_state_dict(torch.load(file, map_location="cpu"))
    return fresh


@torch._dynamo.disable
def _states(optimizer: Any, params: list[torch.Tensor]) -> list[dict[str, Any]]:
    return [dict(sorted(optimizer.state[p].items())) for p in params]
