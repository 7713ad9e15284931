"""Dense linear algebra agrees with the CPU: factors, solutions and gradients, batched and empty.

A bound is the condition of the matrices, below 100 by their construction, times the dtype's epsilon
and the size.
"""

import math

import pytest
import torch
from agreement import agree, random, refused

import torch_neuronx
from torch_neuronx import _C
from torch_neuronx.runtime import platforms

linalg = torch.linalg
# Beside small and empty ones, a batch and a matrix that are factored block by block.
SIZES = [(1, 1), (3, 4, 4), (2, 0, 3, 3), (2, 1, 33, 33), (70, 70)]
DTYPES = [torch.float32, torch.complex128]
CONDITION = 100


@pytest.fixture(autouse=True, params=["kernels", "programs"])
def _either(request, monkeypatch):
    """LAPACK called by the program, and the programs of platforms that cannot."""
    if request.param == "programs":
        monkeypatch.setattr(platforms, "runs_kernels", lambda: False)
    _C.clear_programs()
    yield
    _C.clear_programs()


def natively(fn, *args, **tolerance):
    torch_neuronx.clear_op_tracking()
    agree(fn, *args, **tolerance)
    assert not torch_neuronx.get_fallback_ops()


def bounds(x):
    eps = torch.finfo(x.dtype).eps * max(x.shape[-2:], default=1)
    return {"rtol": CONDITION * eps, "atol": CONDITION * eps}


def matrices(*shape, dtype=torch.float32):
    """Random matrices of entries of size about 1 whose square ones are well-conditioned."""
    x = random(*shape, dtype=torch.float64).to(dtype)
    if dtype.is_complex:
        x = x + 1j * random(*shape, dtype=torch.float64, seed=1).to(dtype)
    n = min(shape[-2:])
    return x + 3 * math.sqrt(n) * torch.eye(*shape[-2:], dtype=dtype).flip(-1)


def positive(*shape, dtype=torch.float32):
    x = matrices(*shape, dtype=dtype)
    return x @ x.mH / max(shape[-1], 1)


def weights(x):
    return torch.linspace(-1, 2, x.numel(), device=x.device).view_as(x)


def with_gradients(fn):
    """What `fn` returns and the gradients of all its arguments."""

    def run(*args):
        given = [x.detach().requires_grad_() for x in args]
        results = fn(*given)
        results = [results] if isinstance(results, torch.Tensor) else list(results)
        total = sum((r * weights(r)).sum().abs() for r in results)
        return [r.detach() for r in results], torch.autograd.grad(total, given)

    return run


every_shape = pytest.mark.parametrize("shape", SIZES, ids=str)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@every_dtype
@every_shape
def test_cholesky(shape, dtype):
    a = positive(*shape, dtype=dtype)
    natively(
        lambda a: [*linalg.cholesky_ex(a), linalg.cholesky_ex(a, upper=True)[0]], a, **bounds(a)
    )


def test_cholesky_reads_one_triangle():
    a = positive(40, 40)
    wrong = a + torch.ones(40, 40).triu(1)
    natively(linalg.cholesky, wrong, **bounds(a))
    natively(lambda a: linalg.cholesky(a, upper=True), wrong.mT, **bounds(a))


def test_cholesky_of_what_is_not_positive_definite():
    a = positive(3, 40, 40)
    a[1, 17, 17] = -1
    natively(lambda a: linalg.cholesky_ex(a).info, a)
    refused(linalg.cholesky, a)
    refused(linalg.cholesky, a[1])


@every_dtype
@every_shape
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems(shape, dtype, upper):
    a = positive(*shape, dtype=dtype)
    a = a.triu() if upper else a.tril()
    b = random(*shape[:-1], 3).to(dtype)

    def solve(a, b):
        return [
            linalg.solve_triangular(a, b, upper=upper),
            linalg.solve_triangular(a, b.mT, upper=upper, left=False),
            linalg.solve_triangular(a * 0.1, b, upper=upper, unitriangular=True),
            torch.triangular_solve(b, a, upper=upper, transpose=True)[0],
        ]

    natively(solve, a, b, **bounds(a))


@every_shape
def test_systems_by_cholesky(shape):
    a = positive(*shape)
    b = random(*shape[:-1], 3)
    factor = linalg.cholesky(a)
    natively(lambda f, b: torch.cholesky_solve(b, f), factor, b, **bounds(a))
    natively(lambda f, b: torch.cholesky_solve(b, f, upper=True), factor.mT, b, **bounds(a))


RECTANGLES = [(5, 3), (2, 40, 80), (90, 70), (0, 3)]


@every_dtype
@pytest.mark.parametrize("shape", SIZES + RECTANGLES, ids=str)
def test_lu(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    natively(lambda a: [*linalg.lu_factor_ex(a), *linalg.lu(a)], a, **bounds(a))
    natively(lambda a: [*torch.lu_unpack(*linalg.lu_factor(a))], a, **bounds(a))


def test_pivots_among_equals():
    a = torch.tensor([[1.0, 2, 3], [1, 5, 6], [-1, 8, 7], [1, 0, 2]])
    natively(linalg.lu_factor_ex, a)
    natively(linalg.lu_factor_ex, torch.ones(3, 3))
    natively(linalg.lu_factor_ex, torch.zeros(2, 70, 70))


@every_dtype
@every_shape
def test_solutions(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    b = random(*shape[:-1], 2).to(dtype)
    natively(lambda a, b: torch.ops.aten._linalg_solve_ex(a, b), a, b, **bounds(a))
    natively(lambda a, b: linalg.solve(a, b.mT, left=False), a.mT, b, **bounds(a))
    if a.numel():
        natively(lambda a, b: linalg.solve(a, b[..., 0]), a, b, **bounds(a))
    natively(lambda a: [*linalg.inv_ex(a), linalg.inv(a.mT)], a, **bounds(a))


@every_dtype
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_solutions_from_factors(dtype, left, adjoint):
    a, b = matrices(2, 1, 6, 6, dtype=dtype), random(3, 6, 6).to(dtype)
    factors = linalg.lu_factor(a)
    natively(
        lambda lu, p, b: linalg.lu_solve(lu, p, b, left=left, adjoint=adjoint),
        *factors, b, **bounds(a),
    )  # fmt: skip


def test_singular_matrices_are_refused():
    a = torch.eye(4).repeat(3, 1, 1)
    a[1, 2, 2] = 0
    for fn in (linalg.inv, lambda a: linalg.solve(a, a), linalg.lu_factor):
        refused(fn, a)
        refused(fn, a[1])


@every_dtype
@every_shape
def test_determinants(shape, dtype):
    a = matrices(*shape, dtype=dtype) / max(shape[-1], 1)
    aten = torch.ops.aten
    natively(lambda a: [*aten._linalg_det(a), *aten._linalg_slogdet(a)], a, **bounds(a))
    natively(lambda a: [*aten._linalg_det(a.mT), linalg.slogdet(a.mT)[1]], a, **bounds(a))


@every_dtype
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients(dtype, transposed):
    shape = (2, 5, 5)
    a, b = matrices(*shape, dtype=dtype), random(*shape).to(dtype)
    a = a.mT if transposed else a
    # Twice the condition: a gradient has the inverse twice.
    bound = {k: CONDITION * v for k, v in bounds(a).items()}
    natively(with_gradients(linalg.solve), a, b, **bound)
    natively(with_gradients(linalg.inv), a, **bound)
    natively(with_gradients(lambda a: linalg.lu(a)[1:]), a, **bound)
    natively(with_gradients(lambda a: linalg.det(a / 4)), a, **bound)
    natively(with_gradients(lambda a: linalg.slogdet(a)[1]), a, **bound)
    natively(with_gradients(linalg.cholesky), positive(*shape, dtype=dtype), **bound)
    natively(with_gradients(lambda a: linalg.matrix_exp(a / 8)), a, **bound)


@every_dtype
@every_shape
def test_matrix_exponential(shape, dtype):
    a = matrices(*shape, dtype=dtype) / max(shape[-1], 1)
    natively(linalg.matrix_exp, a, **bounds(a))


def test_matrix_exponentials_of_every_size():
    a = random(6, 4, 4) * torch.tensor([0, 1e-4, 0.1, 1, 4, 9])[:, None, None]
    # Squaring doubles a relative error up to 2**5 times.
    eps = torch.finfo(a.dtype).eps
    natively(lambda a: linalg.matrix_exp(a) / a.abs().sum((1, 2), keepdim=True).exp(), a,
             rtol=512 * eps, atol=512 * eps)  # fmt: skip


def test_large_matrices():
    a, b = matrices(190, 190), positive(150, 150)
    natively(lambda a: linalg.lu_factor_ex(a), a, **bounds(a))
    natively(lambda b: linalg.cholesky_ex(b), b, **bounds(b))
