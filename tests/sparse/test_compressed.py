"""CSR, CSC, BSR and BSC tensors agree with the CPU."""

import pytest
import torch
from agreement import agree, same
from sparse_samples import COMPRESSED, MATRIX, OTHER

LAYOUTS = {
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 1)),
    "bsc": lambda x: x.to_sparse_bsc((2, 1)),
}
UNARY = ["abs", "neg", "relu", "sqrt", "sin", "erf", "tanh", "isnan", "sign", "angle"]


@pytest.mark.parametrize("name", COMPRESSED)
def test_there_and_back(name):
    x = COMPRESSED[name]
    there = x.to("neuron")
    same(there, x)
    same(there.to_dense(), MATRIX)
    assert "device='neuron:0'" in repr(there)
    agree(lambda x: (x.clone(), x.to(torch.float64), x.transpose(0, 1), x.sum()), x)


def test_made_from_parts():
    csr = COMPRESSED["csr"]
    parts = csr.crow_indices(), csr.col_indices(), csr.values()
    agree(lambda *parts: torch.sparse_csr_tensor(*parts, (4, 3)), *parts)
    agree(lambda x: (x.crow_indices(), x.col_indices(), x.values()), csr)
    same(torch.sparse_csr_tensor(*parts, (4, 3), device="neuron"), csr)


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("to", LAYOUTS)
def test_conversions(name, to):
    same(LAYOUTS[to](COMPRESSED[name].to("neuron")), LAYOUTS[to](MATRIX))


@pytest.mark.parametrize("to", LAYOUTS)
def test_from_dense_and_coo(to):
    same(LAYOUTS[to](MATRIX.to("neuron")), LAYOUTS[to](MATRIX))
    same(LAYOUTS[to](MATRIX.to_sparse().to("neuron")), LAYOUTS[to](MATRIX))


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    agree(getattr(torch, name), COMPRESSED["csr"])


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_arithmetic(name):
    x, dense = COMPRESSED[name], OTHER
    agree(lambda x: (-x, x * 2, x.clone().mul_(3)), x)
    agree(lambda x, d: d + x, x, dense)
    agree(lambda d, x: d.add_(x), dense.clone(), x)


def test_of_two_csr():
    agree(
        lambda x, y: (x + y, torch.add(x, y, alpha=-2), x * y),
        COMPRESSED["csr"],
        OTHER.to_sparse_csr(),
    )
    agree(lambda x, d: (x * d, d.sparse_mask(x)), COMPRESSED["csr"], OTHER)


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_products_with_dense(name):
    x, right, left = COMPRESSED[name], torch.randn(3, 2), torch.randn(2, 4)
    agree(lambda x, y, z: (x @ y, torch.sparse.mm(x, y), x @ y[:, 0], z @ x), x, right, left)
    agree(lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), torch.randn(4, 2), x, right)
    agree(lambda c, x, y: torch.addmv(c, x, y, beta=0.5), torch.randn(4), x, torch.randn(3))


@pytest.mark.parametrize("name", ["bsr", "bsc"])
def test_products_of_blocks(name):
    """The CPU multiplies square blocks only, so here the dense product is the standard."""
    x, right = COMPRESSED[name], torch.randn(3, 2)
    same(x.to("neuron") @ right.to("neuron"), MATRIX @ right)
    same(torch.nn.functional.linear(right.t().to("neuron"), x.to("neuron")), right.t() @ MATRIX.t())


def test_products_of_two_sparse():
    agree(lambda x: x @ x.transpose(0, 1), COMPRESSED["csr"])
    agree(lambda x, y: x @ y, COMPRESSED["csc"], OTHER.t().contiguous().to_sparse_csr())


@pytest.mark.parametrize("dims", [0, 1, (0, 1)])
def test_sums(dims):
    agree(lambda x: x.sum(dims, keepdim=True), COMPRESSED["csr"])
    agree(lambda x: torch._sparse_csr_prod(x, dims, True), COMPRESSED["csr"])


def test_products_at_a_pattern():
    left, right = torch.randn(4, 2), torch.randn(2, 3)
    agree(
        lambda c, x, y: torch.sparse.sampled_addmm(c, x, y, beta=0.5, alpha=2),
        COMPRESSED["csr"],
        left,
        right,
    )


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_with_another_reduction(reduce):
    def with_gradients(x, y):
        x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
        out = torch.sparse.mm(x, y, reduce)
        out.square().sum().backward()
        return out.detach(), x.grad, y.grad

    agree(with_gradients, COMPRESSED["csr"], torch.randn(3, 2))


def test_batches():
    batch = torch.stack([MATRIX, MATRIX * 2]).to_sparse_csr()
    agree(lambda x: (x.to_dense(), x.to_sparse(), x * 2), batch)
    agree(
        torch.sparse.sampled_addmm,
        batch,
        torch.randn(2, 4, 2),
        torch.randn(2, 2, 3),
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.complex128], ids=str)
def test_other_dtypes_than_the_default_one(dtype):
    x, y = torch.randn(4, 2, dtype=dtype), torch.randn(2, 3, dtype=dtype)
    agree(torch.sparse.sampled_addmm, COMPRESSED["csr"].to(dtype), x, y)
    agree(lambda x: (x * 2, x.to_sparse_coo(), x.abs()), COMPRESSED["csr"].to(dtype))


def test_refused():
    x = COMPRESSED["csr"].to("neuron")
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        x @ torch.randn(4, 2, device="neuron")
    with pytest.raises(RuntimeError, match="same shape"):
        x + x.transpose(0, 1).to_sparse_csr()
    with pytest.raises(NotImplementedError, match="solve_triangular"):
        torch.triangular_solve(torch.ones(3, 1, device="neuron"), x.transpose(0, 1) @ x)
