"""Ops that PyTorch computes by other ops, without a decomposition for compilers, are traced."""

import pytest
import torch
from agreement import agree, agree_by_device, compiling, random

EPS = torch.finfo(torch.float32).eps


@pytest.fixture(autouse=True)
def _under_compile(_compiled):
    with compiling():
        yield


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.hamming_window(9, device=d),
        lambda d: torch.hamming_window(8, False, 0.6, 0.4, device=d),
        lambda d: torch.hamming_window(1, device=d),
        lambda d: torch.bartlett_window(9, device=d),
        lambda d: torch.bartlett_window(8, device=d),
        lambda d: torch.bartlett_window(8, False, dtype=torch.float64, device=d),
        lambda d: torch.blackman_window(0, device=d),
        lambda d: torch.blackman_window(9, periodic=False, device=d),
        lambda d: torch.fft.fftfreq(7, 0.5, device=d),
        lambda d: torch.fft.rfftfreq(8, device=d),
        lambda d: torch.range(1, 4, 0.5, device=d),
    ],
)
def test_factories(make):
    agree_by_device(lambda d: make(d) * 2, rtol=8 * EPS, atol=8 * EPS)


def test_convolution_over_time():
    terms = 3 * 4
    agree(
        lambda x, w, b: torch.conv_tbc(x, w, b, 1) * 2,
        random(5, 2, 4),
        random(3, 4, 6, seed=1),
        random(6, seed=2),
        rtol=terms * EPS,
        atol=terms * EPS,
    )


@pytest.mark.parametrize("upper", [False, True])
def test_solving_with_a_cholesky_factor(upper):
    factor = random(4, 4).tril(-1) + 3 * torch.eye(4)
    factor = factor.mT.contiguous() if upper else factor
    agree(
        lambda b, f: torch.cholesky_solve(b, f, upper) + 1,
        random(4, 2, seed=1),
        factor,
        rtol=64 * EPS,
        atol=64 * EPS,
    )
