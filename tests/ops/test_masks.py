"""A bool among floats is 0 or 1, and 0 times what is not finite is not a number."""

import math

import pytest
import torch
from agreement import agree

SPECIAL = torch.tensor([math.inf, -math.inf, math.nan, -2.0, 0.0, 3.0] * 12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_a_mask_times_what_is_not_finite(dtype):
    x = SPECIAL.to(dtype)
    mask = SPECIAL > 0
    agree(lambda m, x: (m * x, x * m, m.to(x.dtype) * x), mask, x)


def test_a_mask_divided_by_zero():
    agree(lambda m: m / 0, SPECIAL > 0)


def test_the_sign_of_zero_times_a_negative_number():
    def signs(mask, x):
        return (mask * x).signbit()

    agree(signs, SPECIAL > 5, -torch.ones_like(SPECIAL))
