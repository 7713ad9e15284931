"""Elementary functions of complex numbers: size of small results, branch cuts, infinities."""

import math

import pytest
import torch
from agreement import agree

FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2", "expm1",
    "log", "log10", "log1p", "log2", "rsqrt", "sgn", "sigmoid", "sin", "sinc", "sinh", "sqrt",
    "tan", "tanh",
)  # fmt: skip
COUNT = 96  # more than 64: XLA:CPU takes another road there


def scattered(size, dtype):
    """Complex numbers of about `size`, also near both axes."""
    generator = torch.Generator().manual_seed(0)
    parts = torch.randn(3, 2, COUNT, dtype=torch.float64, generator=generator) * size
    parts[1, 0] *= 1e-9
    parts[2, 1] *= 1e-9
    return torch.complex(parts[:, 0], parts[:, 1]).flatten().to(dtype)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 5.0])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_the_error_is_a_few_roundings_of_the_result(dtype, size):
    """Relative to each result, so that a cancellation near 0 is seen; against complex128."""
    z = scattered(size, dtype)
    for name in FUNCTIONS:
        function = getattr(torch, name)
        want = function(z.to(torch.complex128))
        got = function(z.to("neuron")).cpu().to(torch.complex128)
        own = (function(z).to(torch.complex128) - want).abs() / want.abs()
        error = (got - want).abs() / want.abs()
        bound = 64 * torch.finfo(dtype).eps + 4 * own.max()
        assert error.max() <= bound, name


def sides_of(cut):
    """Points on a branch cut, with both signs of the part that is zero."""
    ends = torch.tensor(cut, dtype=torch.float64).repeat_interleave(2)
    return ends, torch.tensor([0.0, -0.0]).double().repeat(len(cut))


REAL_CUT = (-3.0, -2.0, -1.5, -0.5, 0.5, 1.5, 2.0, 3.0)


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "atanh", "log", "log2", "rsqrt", "sqrt"])
def test_a_signed_zero_tells_the_sides_of_a_cut_along_the_real_axis(name):
    agree(getattr(torch, name), torch.complex(*sides_of(REAL_CUT)))


@pytest.mark.parametrize("name", ["asinh", "atan"])
def test_a_signed_zero_tells_the_sides_of_a_cut_along_the_imaginary_axis(name):
    along, zero = sides_of(REAL_CUT)
    agree(getattr(torch, name), torch.complex(zero, along))


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "log10", "sinh", "cosh", "tanh"])
def test_an_infinite_part_is_not_multiplied_by_zero(name):
    z = torch.tensor([complex(math.inf, 0), complex(-math.inf, 0), complex(-math.inf, 2), 0j])
    agree(lambda z: torch.view_as_real(getattr(torch, name)(z)), z.to(torch.complex128))


def test_a_magnitude_with_an_infinite_part_is_infinite():
    parts = torch.tensor([math.inf, math.nan, -math.inf, 3.0])
    agree(torch.abs, torch.complex(parts, parts.flip(0)))


def test_powers_take_the_side_of_the_cut_that_the_base_is_on():
    base = torch.complex(*sides_of(REAL_CUT))
    for exponent in (0.3, 0.5, 1.5 + 1j):
        agree(lambda z, e=exponent: z**e, base)
    agree(lambda z: z**2.5, torch.zeros(3, dtype=torch.complex128))


def test_logsumexp_of_complex_numbers():
    agree(lambda z: z.logsumexp(0), scattered(1.0, torch.complex128).view(-1, 4))


def test_logcumsumexp_of_complex_numbers_takes_the_branches_that_the_cpu_takes():
    agree(lambda z: z.logcumsumexp(0), scattered(3.0, torch.complex128).view(-1, 12))
