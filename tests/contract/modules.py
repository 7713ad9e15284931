"""The database of torch.nn's modules: each in training and in evaluation."""

from __future__ import annotations

import copy
import dataclasses
import functools
import io
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_modules import FunctionInput, ModuleInfo, module_db
from torch.testing._internal.common_utils import set_rng_seed
from torch.utils._pytree import tree_leaves, tree_map

from .databases import Operator, Sample
from .sides import on_cpu


def modules() -> list[Operator]:
    return [_operator(info) for info in module_db]


def _operator(info: ModuleInfo) -> Operator:
    dtypes = frozenset(info.supported_dtypes("cpu"))
    return Operator(
        name=info.name,
        function=functools.partial(_forward, info.module_cls),
        samples=functools.partial(_samples, info),
        dtypes=dtypes,
        backward_dtypes=dtypes,
        has_gradgrad=info.supports_gradgrad,
        restored=None if info.is_lazy else _restored,
        errors=functools.partial(_errors, info) if info.module_error_inputs_func else None,
    )


def _forward(cls: type, module: Any, *args: Any, **kwargs: Any) -> Any:
    """`module` is one, or its device and what the constructor of `cls` is given."""
    if not isinstance(module, torch.nn.Module):
        device, positional, named = module
        module = cls(*positional, **named).to(device)
    return module(*args, **kwargs)


def _restored(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The result of a module whose state was saved, cleared and loaded, and the state on the CPU.

    torch.save is given what state_dict returns, as a checkpoint is.
    """
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    fresh = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in (*fresh.parameters(), *fresh.buffers()):
            tensor.zero_()
    file.seek(0)
    fresh.load_state_dict(torch.load(file))
    file.seek(0)
    return fresh(*args, **kwargs), dict(torch.load(file, map_location="cpu"))


def _samples(info: ModuleInfo, dtype: torch.dtype, requires_grad: bool) -> Iterator[Sample]:
    for training in (True, False) if info.train_and_eval_differ else (True,):
        set_rng_seed(0)
        for given in info.module_inputs_func(info, "cpu", dtype, requires_grad, training):
            if given.forward_input is not None:
                yield _sample(info, given, dtype, training)


def _sample(info: ModuleInfo, given: Any, dtype: torch.dtype, training: bool) -> Sample:
    made, called = given.constructor_input, given.forward_input
    with torch.random.fork_rng(devices=[]):
        module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
    sample = Sample((module, *called.args), called.kwargs)
    return dataclasses.replace(sample, random=_is_random(sample))


def _is_random(sample: Sample) -> bool:
    """Whether another seed makes another result: dropout, the weights of a lazy module."""
    results = []
    for seed in (0, 1):
        module, *inputs = (copied := on_cpu(sample)).args
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            results.append(_numbers(module(*inputs, **copied.kwargs)))
    return not all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def _numbers(result: Any) -> list[torch.Tensor]:
    leaves = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return tree_map(torch.nan_to_num, leaves)


def _errors(info: ModuleInfo) -> Iterator[Sample]:
    """Calls that construct the module too: some are refused there."""
    set_rng_seed(0)
    for error in info.module_error_inputs_func(info, "cpu", torch.float32, False, True):
        given = error.module_error_input
        made, called = given.constructor_input, given.forward_input or FunctionInput()
        start = (torch.device("cpu"), made.args, made.kwargs)
        yield Sample((start, *called.args), called.kwargs)
