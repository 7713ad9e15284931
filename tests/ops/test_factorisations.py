"""QR, SVD, eigenvalues, LDL and least squares agree with the CPU, whose kernels they are.

The device runs them in its programs, on the programs' buffers: nothing runs on the host.
"""

import pytest
import torch
from agreement import agree, random, refused, same

import torch_neuronx

aten, linalg = torch.ops.aten, torch.linalg
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
SHAPES = [(4, 4), (2, 3, 5, 3), (3, 6), (0, 3, 3), (2, 0, 2)]
SQUARES = [(5, 5), (2, 1, 3, 3), (0, 3, 3), (2, 0, 0)]


def natively(fn, *args, **tolerance):
    torch_neuronx.clear_op_tracking()
    agree(fn, *args, **tolerance)
    assert not torch_neuronx.get_fallback_ops()


def bounds(x):
    """The same kernel on the same values: a library may still add in another order."""
    eps = torch.finfo(x.dtype).eps * max(x.shape[-2:])
    return {"rtol": 8 * eps, "atol": 8 * eps}


def matrices(*shape, dtype=torch.float32):
    return random(*shape, dtype=dtype) if not dtype.is_complex else torch.complex(
        random(*shape, dtype=dtype.to_real()), random(*shape, dtype=dtype.to_real(), seed=1)
    )  # fmt: skip


def hermitian(*shape, dtype=torch.float32):
    a = matrices(*shape, dtype=dtype)
    return a + a.mH


every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
every_square = pytest.mark.parametrize("shape", SQUARES, ids=str)


@every_dtype
@every_shape
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(shape, dtype, mode):
    a = matrices(*shape, dtype=dtype)
    natively(lambda a: linalg.qr(a, mode=mode), a, **bounds(a))
    natively(lambda a: linalg.qr(a.mT, mode=mode), a.mT, **bounds(a))


@every_dtype
def test_householder_reflections(dtype):
    a, c = matrices(2, 5, 3, dtype=dtype), matrices(2, 5, 4, dtype=dtype)

    def reflect(a, c):
        factors, tau = torch.geqrf(a)
        products = [torch.ormqr(factors, tau, c, transpose=t) for t in (False, True)]
        return [factors, tau, linalg.householder_product(factors, tau), *products]

    natively(reflect, a, c, **bounds(a))


@every_dtype
@every_shape
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(shape, dtype, full):
    a = matrices(*shape, dtype=dtype)
    natively(lambda a: linalg.svd(a, full_matrices=full), a, **bounds(a))
    natively(linalg.svdvals, a, **bounds(a))


@every_dtype
@every_square
def test_eigenvalues_of_hermitian_matrices(shape, dtype):
    a = hermitian(*shape, dtype=dtype)
    for triangle in "LU":
        natively(lambda a, t=triangle: linalg.eigh(a, t), a, **bounds(a))
    natively(linalg.eigvalsh, a, **bounds(a))


@every_dtype
@every_square
def test_eigenvalues(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    natively(linalg.eig, a, **bounds(a))
    natively(linalg.eigvals, a, **bounds(a))


@every_dtype
@every_square
def test_indefinite_systems(shape, dtype):
    a, b = hermitian(*shape, dtype=dtype), matrices(*shape, dtype=dtype)

    def solve(a, b):
        ld, pivots, info = linalg.ldl_factor_ex(a, hermitian=True)
        return [ld, pivots, info, linalg.ldl_solve(ld, pivots, b, hermitian=True)]

    natively(solve, a, b, **bounds(a))


@every_dtype
def test_inverses_by_cholesky(dtype):
    a = hermitian(2, 4, 4, dtype=dtype)
    a = a @ a.mH + torch.eye(4, dtype=dtype)
    natively(torch.cholesky, a, **bounds(a))
    natively(lambda f: torch.cholesky_inverse(f), linalg.cholesky(a), **bounds(a))


@every_dtype
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(dtype, driver):
    wide, b = matrices(2, 3, 5, dtype=dtype), matrices(2, 3, 2, dtype=dtype)
    natively(lambda a, b: linalg.lstsq(a, b, driver=driver), wide, b, **bounds(wide))
    tall, b = matrices(5, 3, dtype=dtype), matrices(5, 2, dtype=dtype)
    fit = lambda a, b: linalg.lstsq(a, b, driver=driver)  # noqa: E731
    if driver in ("gels", "gelsy"):
        natively(fit, tall, b, **bounds(tall))
    else:
        # On the host, for a shape depends on the rank; without the gaps of the CPU's solution.
        agree(lambda a, b: [x.contiguous() for x in fit(a, b)], tall, b, **bounds(tall))


@every_dtype
def test_pseudo_inverses(dtype):
    a = matrices(2, 5, 3, dtype=dtype)
    natively(linalg.pinv, a, **bounds(a))
    tolerance = torch.tensor([[0.1], [10.0]], dtype=dtype.to_real())
    natively(lambda a, t: linalg.pinv(a, atol=t[:, 0]), a, tolerance, **bounds(a))


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: linalg.qr(a)[1],
        linalg.svdvals,
        lambda a: linalg.eigvalsh(a + a.mH),
        lambda a: linalg.eigvals(a).abs(),
        lambda a: linalg.lstsq(a, a.mT)[0],
        linalg.pinv,
        lambda a: linalg.householder_product(a, a[..., 0]),
    ],
)
def test_gradients(fn):
    a = matrices(2, 4, 4, dtype=torch.float64)

    def gradient(a):
        a = a.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(fn(a).square().sum(), a)
        return gradient

    # A gradient divides by gaps between eigenvalues, which here exceed 1e-2.
    natively(gradient, a, rtol=1e-9, atol=1e-9)


def singular():
    a = torch.eye(4).repeat(3, 1, 1)
    a[1, 2, 2] = 0
    return a


REFUSED = {
    "cholesky": (linalg.cholesky, -torch.eye(3)),
    "cholesky of a batch": (linalg.cholesky, torch.stack([torch.eye(3), -torch.eye(3)])),
    "the older cholesky": (torch.cholesky, -torch.eye(3)),
    "checked cholesky": (lambda a: linalg.cholesky_ex(a, check_errors=True), -torch.eye(3)),
    "inverse": (linalg.inv, torch.zeros(3, 3)),
    "inverse of a batch": (linalg.inv, singular()),
    "checked inverse": (lambda a: linalg.inv_ex(a, check_errors=True), singular()),
    "system": (lambda a: linalg.solve(a, a), singular()),
    "checked system": (lambda a: linalg.solve_ex(a, a, check_errors=True), singular()),
    "checked factors": (lambda a: linalg.lu_factor_ex(a, check_errors=True), singular()),
    "checked LDL": (lambda a: linalg.ldl_factor_ex(a, check_errors=True), torch.zeros(2, 2)),
    "inverse by cholesky": (torch.cholesky_inverse, torch.zeros(3, 3)),
    "svd": (linalg.svd, torch.full((3, 3), torch.nan)),
    "eig": (linalg.eig, torch.full((3, 3), torch.inf)),
    "eigh": (linalg.eigh, torch.full((3, 3), torch.nan)),
    "half precision": (linalg.qr, torch.ones(3, 3, dtype=torch.bfloat16)),
    "large half precision": (torch.geqrf, torch.ones(90, 90, dtype=torch.bfloat16)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    refused(*REFUSED[case])


COMPILED = ["cholesky of a batch", "inverse of a batch", "system", "svd", "eig", "checked LDL"]


@pytest.mark.parametrize("case", COMPILED)
def test_refused_in_a_graph(case):
    fn, a = REFUSED[case]
    with pytest.raises(Exception) as want:  # noqa: PT011 - whatever it is, it is the standard
        fn(a)
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend="neuron", fullgraph=True)
    with pytest.raises(type(want.value)) as got:
        compiled(a.to("neuron"))
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_eigenvalues_of_what_is_not_finite(value):
    """Refused as by `eig`: the CPU's library crashes of it."""
    for dtype in (torch.float32, torch.complex64):
        a = torch.full((3, 3), value, dtype=dtype)
        with pytest.raises(RuntimeError, match="eigvals: input tensor should not contain infs"):
            linalg.eigvals(a.to("neuron"))


def test_a_graph():
    a = matrices(6, 4)

    def fit(a):
        q, r = linalg.qr(a)
        u, s, v = linalg.svd(r, full_matrices=False)
        return q @ u, s, linalg.eigvalsh(a.mT @ a), v

    torch._dynamo.reset()
    same(torch.compile(fit, backend="neuron", fullgraph=True)(a.to("neuron")), fit(a), **bounds(a))


def test_a_failure_changes_nothing():
    """Not what the call was to write, nor what comes after."""
    target = torch.full((3, 3), 7.0, device="neuron")
    with pytest.raises(linalg.LinAlgError):
        torch.cholesky(-torch.eye(3, device="neuron"), out=target)
    assert (target == 7).all()
    natively(torch.cholesky, 4 * torch.eye(3))


def test_mapped_over_a_batch():
    a = hermitian(3, 4, 4)
    natively(lambda a: torch.vmap(linalg.qr)(a), a, **bounds(a))
    natively(lambda a: torch.vmap(linalg.eigvalsh)(a), a, **bounds(a))
