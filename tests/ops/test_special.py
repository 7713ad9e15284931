"""Special functions agree with the CPU over their whole domain."""

import math

import pytest
import torch
from agreement import agree, same
from torch import special

POSITIVE = torch.cat([torch.logspace(-6, 2, 61), torch.tensor([0.0, 2.0, 5.0, 8.0])])
REAL = torch.cat([POSITIVE, -POSITIVE, torch.tensor([float("nan"), float("inf")])])
UNIT = torch.cat(
    [torch.logspace(-8, -0.01, 60), torch.tensor([0.0, 0.135, 0.5, 0.9, 0.999, 1.0, 1.5])]
)

FUNCTIONS = {
    "airy_ai": (special.airy_ai, REAL.clamp(-60)),
    "digamma": (special.digamma, REAL), "entr": (special.entr, REAL), "erf": (special.erf, REAL),
    "erfc": (special.erfc, REAL), "erfcx": (special.erfcx, REAL.clamp(-9)),
    "erfinv": (special.erfinv, UNIT), "expit": (special.expit, REAL),
    "gammaln": (special.gammaln, REAL), "i0": (special.i0, REAL.clamp(-80, 80)),
    "i0e": (special.i0e, REAL), "i1": (special.i1, REAL.clamp(-80, 80)), "i1e": (special.i1e, REAL),
    "j0": (special.bessel_j0, REAL), "j1": (special.bessel_j1, REAL),
    "k0": (special.modified_bessel_k0, REAL), "k1": (special.modified_bessel_k1, REAL),
    "log_ndtr": (special.log_ndtr, REAL), "logit": (special.logit, UNIT),
    "ndtr": (special.ndtr, REAL), "ndtri": (special.ndtri, UNIT),
    "scaled_k0": (special.scaled_modified_bessel_k0, POSITIVE),
    "scaled_k1": (special.scaled_modified_bessel_k1, POSITIVE), "sinc": (special.sinc, REAL),
    "spherical_j0": (special.spherical_bessel_j0, REAL), "xlog1py": (special.xlog1py, None),
    "xlogy": (special.xlogy, None), "y0": (special.bessel_y0, REAL),
    "y1": (special.bessel_y1, REAL),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    fn, x = FUNCTIONS[name]
    args = (x,) if x is not None else (REAL[:, None], REAL[::4])
    # Bessel functions cancel near their zeros: there the bound is absolute, at the scale of the
    # wave.
    agree(fn, *args, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("fn", [special.i0, special.i0e])
def test_bessel_functions_are_exact_to_their_coefficients(fn):
    """Interpolants of 32 terms, each rounded once, of a function that ends at 1/7 of its start."""
    x = torch.linspace(-30, 30, 601, dtype=torch.float64)
    agree(fn, x, rtol=32 * torch.finfo(torch.float64).eps, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_lgamma_is_as_exact_near_its_zeros(dtype):
    x = torch.cat([torch.linspace(0.76, 12, 501), torch.tensor([1.0, 2.0]), 1 + UNIT / 8]).to(dtype)
    agree(torch.lgamma, x, rtol=16 * torch.finfo(dtype).eps, atol=0)


def test_the_zeros_of_lgamma_are_positive():
    def program(device):
        x = torch.tensor([1.0, 2.0], device=device)
        return 1 / torch.lgamma(x), 1 / torch.lgamma(torch.ones_like(x))

    want = program("cpu")
    same(program("neuron"), want)
    same(torch.compile(program, backend="neuron")("neuron"), want)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_polygamma(n):
    agree(
        lambda x: torch.polygamma(n, x),
        torch.tensor([-2.7, -0.4, 0.3, 1.0, 5.0, 80.0, math.inf, -math.inf, math.nan]),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("x", "value"), [(0.5, math.pi**2 / 2), (1.0, math.pi**2 / 6), (2.0, math.pi**2 / 6 - 1)]
)
def test_trigamma_in_float64(x, value):
    """Abramowitz and Stegun, 6.4.2 and 6.4.4. The CPU's is off by up to 4e-10."""
    got = torch.polygamma(1, torch.tensor(x, dtype=torch.float64, device="neuron"))
    assert got.item() == pytest.approx(value, rel=1e-14)


def test_incomplete_gamma():
    a = torch.tensor([0.0, 0.0, 1.0, 50.0, 100.0, 30.0, 0.01, float("inf"), -1.0])
    x = torch.tensor([0.0, 1.0, 0.0, 50.0, 80.0, 90.0, 1e-9, 3.0, 1.0])
    agree(
        lambda a, x: [special.gammainc(a, x), special.gammaincc(a, x)], a, x, rtol=1e-5, atol=1e-7
    )


def test_zeta():
    s, q = torch.tensor([1.5, 2.0, 2.0, 3.0, 1.0]), torch.tensor([0.5, 1.0, -2.5, 10.0, 2.0])
    agree(special.zeta, s, q, rtol=1e-5, atol=1e-6)


FAMILIES = [
    "hermite_polynomial_h",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_w",
]


@pytest.mark.parametrize("name", FAMILIES)
def test_polynomials_of_run_time_degree(name):
    x, n = torch.linspace(-1, 1, 7)[:, None], torch.tensor([-1, 0, 1, 2, 5, 9])
    agree(getattr(special, name), x, n, rtol=1e-4, atol=1e-4)
