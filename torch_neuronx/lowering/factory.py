"""Rules that make tensors from sizes and numbers: full, zeros, eye, their *_like and new_* forms.

Ranges (arange, linspace) are in `ranges`. Uninitialized memory reads as zeros, so empty is zeros
here.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import rule_for

aten = torch.ops.aten


def _constant(value):
    def rule(out, *args, **kwargs):
        return hlo.full(out.shape, value, out.dtype)

    return rule


rule_for(
    aten.zeros.default,
    aten.zeros_like.default,
    aten.new_zeros.default,
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.empty_permuted.default,
    aten.empty_strided.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
    aten._efficientzerotensor.default,
    aten._make_dep_token.default,
)(_constant(0))
rule_for(aten.ones.default, aten.ones_like.default, aten.new_ones.default)(_constant(1))


@rule_for(aten.full.default)
def full(out, size, fill_value, *, dtype=None):
    return hlo.full(out.shape, fill_value, out.dtype)


@rule_for(aten.full_like.default)
def full_like(out, like, fill_value, *, dtype=None):
    return hlo.full(out.shape, fill_value, out.dtype)


@rule_for(aten.new_full.default)
def new_full(out, like, size, fill_value, *, dtype=None):
    return hlo.full(out.shape, fill_value, out.dtype)


@rule_for(aten.scalar_tensor.default)
def scalar_tensor(out, value, *, dtype=None):
    return hlo.number(value, out.dtype)


@rule_for(aten.eye.default, aten.eye.m)
def eye(out, *sizes, dtype=None):
    rows, columns = (hlo.iota(out.shape, d, torch.int32) for d in (0, 1))
    return hlo.convert(rows == columns, out.dtype)


def _indices(lower: bool):
    """tril_indices or triu_indices: [2, count] of row and column, row by row.

    The count is part of the shape, so the indices are a literal that PyTorch itself computes.
    """
    make = torch.tril_indices if lower else torch.triu_indices

    def rule(out, row, col, offset=0, *, dtype=None):
        return hlo.constant(make(row, col, offset, dtype=out.dtype, device="cpu").numpy())

    return rule


rule_for(aten.tril_indices.default)(_indices(lower=True))
rule_for(aten.triu_indices.default)(_indices(lower=False))
