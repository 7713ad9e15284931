"""Products of matrices and vectors agree with the CPU: dtypes, layouts, beta and alpha, empty
ones.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, fastest_seconds

aten = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64,
          torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]  # fmt: skip


def matrix(*shape, dtype=torch.float32, seed=0):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))
    return x.to(dtype) if dtype.is_floating_point or dtype.is_complex else (x * 40).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products(dtype):
    a, b = matrix(5, 7, dtype=dtype), matrix(7, 3, dtype=dtype)
    agree(
        lambda a, b: [a @ b, a[0] @ b, a @ b[:, 1], a[0] @ b[:, 0], torch.outer(a[0], b[0])], a, b
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_batched_products(dtype):
    a, b = matrix(2, 4, 5, dtype=dtype), matrix(2, 5, 3, dtype=dtype)
    agree(lambda a, b: [torch.bmm(a, b), a @ b[0], torch.einsum("bij,bjk->bk", a, b)], a, b)


def test_strided_operands():
    a, b = matrix(7, 5), matrix(3, 7)
    agree(lambda a, b: [a.t() @ b.t(), a[::2].t() @ b.t()[::2], a.t().contiguous() @ b.t()], a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_one_row_or_column_and_a_matrix_in_either_layout(dtype):
    row, square = matrix(1, 6, dtype=dtype), matrix(6, 6, dtype=dtype)

    def products(row, square):
        column = row.t()
        return [
            p
            for m in (square, square.t(), square[::2, ::2].t(), square[:3].t())
            for p in (row[:, : len(m)] @ m, m.t() @ column[: len(m)], row[0, : len(m)] @ m)
        ]

    agree(products, row, square)


def test_rows_without_columns():
    agree(lambda a, b: [a @ b, b.t() @ a.t(), F.linear(a, b.t())], matrix(1, 0), matrix(0, 4))
    agree(lambda a, b: [a @ b, b.t() @ a.t()], matrix(5, 0), matrix(0, 1))


def test_a_linear_layer_takes_one_row_as_fast_as_two():
    """XLA:CPU has loops for a matrix and a vector that differ by a factor of ten and more."""
    weight, two = (matrix(*shape).to("neuron") for shape in ((4096, 256), (2, 256)))
    seconds = {n: fastest_seconds(lambda n=n: F.linear(two[:n], weight)) for n in (1, 2)}
    assert seconds[1] < 2 * seconds[2]


@pytest.mark.parametrize("beta", [0, 0.0, 1, 0.3])
@pytest.mark.parametrize("alpha", [1, -0.5])
def test_beta_and_alpha(beta, alpha):
    x = torch.full((4, 3), math.nan) if beta == 0 else matrix(4, 3, seed=2)
    a, b = matrix(4, 6), matrix(6, 3)
    agree(lambda x, a, b: torch.addmm(x, a, b, beta=beta, alpha=alpha), x, a, b)
    agree(lambda x, a, b: torch.addmv(x[:, 0], a, b[:, 0], beta=beta, alpha=alpha), x, a, b)
    agree(lambda x, a, b: torch.baddbmm(x[None], a[None], b[None], beta=beta, alpha=alpha), x, a, b)
    agree(lambda x, a, b: torch.addbmm(x, a[None], b[None], beta=beta, alpha=alpha), x, a, b)
    agree(lambda x, a, b: torch.addr(x, a[:, 0], b[0], beta=beta, alpha=alpha), x, a, b)


@pytest.mark.parametrize(("m", "k", "n"), [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_empty_products(m, k, n):
    agree(lambda a, b, x: [a @ b, torch.addmm(x, a, b)], matrix(m, k), matrix(k, n), matrix(n))


def test_float32_is_full_precision():
    x, w, b = matrix(32, 64), matrix(128, 64), matrix(128)
    agree(torch.nn.functional.linear, x, w, b, rtol=1e-5, atol=1e-5)


def test_conjugated_dot():
    agree(lambda x, y: [torch.vdot(x, y), x.conj() @ y], *(matrix(6, dtype=torch.complex64),) * 2)


def test_int8_product_into_int32():
    agree(torch._int_mm, matrix(20, 16, dtype=torch.int8), matrix(16, 8, dtype=torch.int8))


@pytest.mark.parametrize("out_dtype", [torch.float32, torch.bfloat16], ids=str)
def test_scaled_float8_product(out_dtype):
    # Bytes, as assert_close does not compare float8 arguments afterwards within a tolerance.
    a, b = (matrix(n, 64).to(torch.float8_e4m3fn).view(torch.uint8) for n in (32, 48))
    one, rows, columns = torch.tensor(0.5), torch.rand(32, 1), torch.rand(1, 48)

    def product(a, b, x, y):
        a, b = a.view(torch.float8_e4m3fn), b.view(torch.float8_e4m3fn)
        return torch._scaled_mm(a, b.t(), x, y, out_dtype=out_dtype)

    agree(product, a, b, one, one, rtol=2**-7, atol=2**-7)
    agree(product, a, b, rows, columns, rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_bilinear_layers(dtype):
    x, y, w = (matrix(*shape, dtype=dtype) for shape in ((2, 3, 5), (2, 3, 4), (6, 5, 4)))

    def layer(x, y, w):
        given = [v.detach().requires_grad_() for v in (x, y, w)]
        result = torch.nn.functional.bilinear(*given)
        return result.detach(), *torch.autograd.grad(result.sum(), given)

    # Sums of up to 24 products; the CPU rounds bfloat16 between its steps.
    eps = torch.finfo(dtype).eps
    agree(layer, x, y, w, rtol=48 * eps, atol=48 * eps)
    agree(lambda x, y, w: torch.ops.aten._trilinear(x, y, w, [], [], [2], [1]),
          matrix(2, 3, 4), matrix(2, 3, 4), matrix(2, 3), rtol=1e-5, atol=1e-5)  # fmt: skip
