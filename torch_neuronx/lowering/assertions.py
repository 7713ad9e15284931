"""Rules of assertions about data, which are checks of the program: a launch raises what failed."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import context, hlo
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten


@lowers(aten._assert_async.default)
def _assert(out, x):
    _require(x, "Expected Tensor with single nonzero value, but got zero")
    return ()


@lowers(aten._assert_async.msg)
def _assert_with_message(out, x, message):
    _require(x, message or "Assertion is failed")
    return ()


@lowers(aten._functional_assert_async.msg)
def _assert_in_order(out, x, message, token):
    _require(x, message or "Assertion is failed")
    return token


@lowers(aten._assert_scalar.default)
def _assert_number(out, x, message):
    _require(hlo.number(x, torch.bool), message)


def _require(x: Value, message: str) -> None:
    if x.numel != 1:
        raise RuntimeError("the truth of several values is ambiguous")
    context.check(hlo.reshape(x, ()) == 0, "RuntimeError", message)
