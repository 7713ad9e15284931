"""Integers: they wrap around at their width, whatever the operator."""

import pytest
import torch
from agreement import agree

SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
INTEGERS = (torch.uint8, *SIGNED)


def extremes(dtype):
    info = torch.iinfo(dtype)
    values = [info.min, info.min + 1, 0, 1, 2, 3, 7, info.bits - 1, info.bits, info.max]
    return torch.tensor(values + [-1, -2, -7] * dtype.is_signed, dtype=dtype)


def pairs(dtype):
    x = extremes(dtype)
    return x.repeat_interleave(len(x)), x.repeat(len(x))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "pow", "bitwise_xor"])
def test_arithmetic_is_modulo_the_width(name, dtype):
    agree(getattr(torch, name), *pairs(dtype))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_powers_with_one_number(dtype):
    x = extremes(dtype)
    for exponent in (0, 1, 5, 63, 100):
        agree(lambda x, e=exponent: x**e, x)
    agree(lambda x: 3**x, x)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_a_shift_out_of_range_leaves_zero_or_the_sign(dtype):
    x, amount = pairs(dtype)
    agree(lambda x, y: (x << y, x >> y), x, amount)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_divisors_and_multiples(dtype):
    """Without the smallest number, whose magnitude the CPU's division by -1 traps on."""
    x, y = pairs(dtype)
    fits = (x != torch.iinfo(dtype).min) & (y != torch.iinfo(dtype).min)
    agree(lambda x, y: (torch.gcd(x, y), torch.lcm(x, y)), x[fits], y[fits])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_division_rounds_as_it_is_told(dtype):
    x, y = pairs(dtype)
    overflows = (x == torch.iinfo(dtype).min) & (y == -1) if dtype.is_signed else y == 0
    defined = (y != 0) & ~overflows
    for mode in ("floor", "trunc"):
        agree(lambda x, y, m=mode: torch.div(x, y, rounding_mode=m), x[defined], y[defined])
    agree(lambda x, y: (x % y, torch.fmod(x, y)), x[defined], y[defined])


def test_int64_is_exact_beyond_the_integers_of_float64():
    x = torch.tensor([2**53 + 1, 2**62 - 3, -(2**60) - 1, 2**63 - 1])
    agree(lambda x: (x + 1, x * 3, x // 7, x % 1000, x.sum(), x.cumsum(0), x.prod()), x)
    agree(lambda x: (x.sort(), x.amax(), x.argmin(), x == x + 1, x.unique()), x)
    agree(lambda x: x.view(2, 2) @ x.view(2, 2), x)
