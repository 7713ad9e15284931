"""Casts between dtypes give what PyTorch's CPU kernels give, also where a number does not fit."""

import math

import pytest
import torch
from agreement import agree

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
# uint32 is left out: what does not fit it differs from one CPU kernel to another.
INTEGERS = (
    torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.int64, torch.uint64,
)  # fmt: skip
FITS = (0.0, -0.0, 0.5, -0.99, 1.5, -2.0, 127.5, 200.0, 255.9, 300.0, 40000.0, 70000.0, -70000.0)
DOES_NOT = (math.nan, math.inf, -math.inf, 1e20, -1e20, 1e30)
EDGES = (2.0**31, -(2.0**31), 2.0**31 - 128, 2.0**63, -(2.0**63), 2.0**62)


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_float_to_integer(source, target):
    x = torch.tensor((*FITS, *DOES_NOT, *EDGES), dtype=torch.float64).to(source)
    agree(lambda x: x.to(target), x)


@pytest.mark.parametrize("target", [*FLOATS, torch.complex64, torch.bool], ids=str)
def test_float_and_integer_to_others(target):
    agree(lambda x: x.to(target), torch.tensor((*FITS, *DOES_NOT), dtype=torch.float64))
    agree(lambda x: x.to(target), torch.tensor([0, 1, -1, 2**53 + 1, -(2**62) - 3, 2**63 - 1]))
