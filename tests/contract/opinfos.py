"""The databases made of OpInfos: ATen's operators and the functions composed of them.

PyTorch keeps those of fft, linalg, special, masked and signal in the list of all operators, by
prefix; of fft there is a list as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import itertools
import unittest
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_utils import set_rng_seed
from torch.testing._internal.opinfo import core

from .databases import Operator, Sample

# It looks through the stack for a unittest whenever samples are asked for, which takes longer than
# most checks, and finds none.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

INTERNAL = "torch.testing._internal"
INVOCATIONS = "common_methods_invocations"
FOREACH = ("unary", "binary", "pointwise", "reduce", "other")

# Positional arguments that PyTorch wants on the CPU whatever the device: they decide shapes.
HOST_ARGUMENTS = {name: frozenset({1}) for name in ("tensor_split", "_refs.tensor_split")}


def ops() -> list[Operator]:
    return _listed(INVOCATIONS, "op_db")


def spectral() -> list[Operator]:
    return _listed(INVOCATIONS, "spectral_funcs")


def references() -> list[Operator]:
    """PyTorch's definitions of its operators in terms of others."""
    return _listed(INVOCATIONS, "python_ref_db")


def foreach() -> list[Operator]:
    return _listed(INVOCATIONS, *(f"foreach_{kind}_op_db" for kind in FOREACH))


def higher_order() -> list[Operator]:
    return _listed("hop_db", "hop_db")


def custom_ops() -> list[Operator]:
    return _listed("custom_op_db", "custom_op_db")


def sparse_coo() -> list[Operator]:
    return _sparse(torch.sparse_coo)


def sparse_csr() -> list[Operator]:
    return _sparse(torch.sparse_csr)


def _sparse(layout: torch.layout) -> list[Operator]:
    """The operators that PyTorch gives samples of this layout."""
    found = importlib.import_module(f"{INTERNAL}.{INVOCATIONS}")
    sampler = f"sample_inputs_{layout}_func".replace("torch.", "")
    return [
        dataclasses.replace(
            _operator(info),
            samples=functools.partial(_sparse_samples, info, layout),
            errors=None,
            has_out=False,
        )
        for info in found.op_db
        if getattr(info, sampler).__name__ != "_sample_inputs_unspecified"
    ]


def _sparse_samples(
    info: Any, layout: torch.layout, dtype: torch.dtype, requires_grad: bool
) -> Iterator[Sample]:
    set_rng_seed(0)
    with contextlib.suppress(unittest.SkipTest):  # there are none
        for sample in info.sample_inputs_sparse(layout, "cpu", dtype, requires_grad=requires_grad):
            yield _sample(sample)


def _listed(module: str, *lists: str) -> list[Operator]:
    found = importlib.import_module(f"{INTERNAL}.{module}")
    return [_operator(info) for name in lists for info in getattr(found, name)]


def _operator(info: Any) -> Operator:
    return Operator(
        name=info.full_name,
        function=info.op,
        samples=functools.partial(_samples, info),
        dtypes=frozenset(info.supported_dtypes("cpu")),
        backward_dtypes=_backward_dtypes(info),
        inplace=info.get_inplace(),
        has_out=info.supports_out,
        has_gradgrad=info.supports_gradgrad,
        has_jvp=info.supports_forward_ad,
        errors=functools.partial(_errors, info) if info.error_inputs_func else None,
        host=HOST_ARGUMENTS.get(info.full_name, frozenset()),
    )


def _backward_dtypes(info: Any) -> frozenset[torch.dtype]:
    if not info.supports_autograd:
        return frozenset()
    return frozenset(info.supported_backward_dtypes("cpu"))


def _samples(info: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Sample]:
    set_rng_seed(0)
    # With an index, "cpu" is to the samples of foreach a device like any other: they are more.
    device = "cpu:0" if hasattr(info, "sample_zero_size_inputs") else "cpu"
    found = info.sample_inputs(device, dtype, requires_grad=requires_grad)
    empty = getattr(info, "sample_zero_size_inputs", lambda *_: ())
    for sample in itertools.chain(found, empty(device, dtype, requires_grad)):
        yield _sample(sample)


def _errors(info: Any) -> Iterator[Sample]:
    set_rng_seed(0)
    for error in info.error_inputs("cpu"):
        yield _sample(error.sample_input)


def _sample(sample: Any) -> Sample:
    return Sample(
        (sample.input, *sample.args),
        sample.kwargs,
        sample.output_process_fn_grad,
        sample.broadcasts_input,
    )
