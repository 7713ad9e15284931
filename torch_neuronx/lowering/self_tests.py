"""Ops by which PyTorch tests its own code generation and dispatcher; values as on the CPU."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.registry import lowers

aten = torch.ops.aten


@lowers(aten._foobar.default)
def _foobar(out, x, arg1=True, arg2=True, *, arg3=True):
    return x


@lowers(aten._test_functorch_fallback.default)
def _functorch_fallback(out, x, other):
    return x


@lowers(aten._test_autograd_multiple_dispatch_view_copy.default)
def _view_copy(out, x):
    return hlo.reshape(x, out.shape)


@lowers(
    aten._test_optional_intlist.default,
    aten._test_optional_filled_intlist.default,
    aten._test_optional_floatlist.default,
)
def _plus_list(out, values, addends):
    """`addends` are as many as there are values."""
    if addends is None:
        return values
    terms = torch.tensor([addends[i] for i in range(out.numel)], dtype=out.dtype)
    return values + hlo.literal(terms)
