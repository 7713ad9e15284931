"""Operators element by element on COO tensors agree with the CPU."""

import pytest
import torch
from agreement import agree, refused
from sparse_samples import COALESCED, HYBRID, NOTHING, A, B, coo

UNARY = [
    "abs", "neg", "relu", "sqrt", "asin", "asinh", "sinh",
    "atan", "ceil", "floor", "round", "trunc", "frac", "sign",
    "sgn", "signbit", "isnan", "isinf", "isposinf", "isneginf", "log1p",
    "expm1", "erf", "erfinv", "sin", "tan", "tanh", "deg2rad",
    "rad2deg", "nan_to_num",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    agree(getattr(torch, name), A)


@pytest.mark.parametrize("x", [A, COALESCED, HYBRID, NOTHING])
def test_with_numbers(x):
    agree(lambda x: (x * 2, x / 3, x // 3, x.pow(2), torch.div(x, 3, rounding_mode="trunc")), x)
    agree(lambda x: x.clone().mul_(2).div_(3), x)


def test_with_0d_tensors():
    agree(lambda x, y: (x * y, y * x, x / y), A, torch.tensor(2.0))


@pytest.mark.parametrize("pair", [(A, B), (COALESCED, B.coalesce()), (A, COALESCED), (NOTHING, A)])
def test_of_two_sparse(pair):
    agree(lambda x, y: (x + y, x - 3 * y, x * y), *pair)
    agree(lambda x, y: x.clone().add_(y, alpha=-2), *pair)


def test_sums_of_coalesced_tensors_are_coalesced():
    total = COALESCED.to("neuron") + B.coalesce().to("neuron")
    assert total.is_coalesced()


def test_with_dense():
    dense = torch.randn(4, 5)
    agree(lambda d, x: (d + x, d - x, d * x, x * d), dense, A)
    agree(lambda d, x: d.add_(x, alpha=-0.5), dense.clone(), A)
    agree(lambda d, x: d.t().add_(x), torch.randn(5, 4), A)
    agree(lambda d, x: x * d, dense[:, :1], A)
    agree(lambda d, x: x * d, torch.randn(4, 5, 3), HYBRID)


def test_dtypes_are_promoted():
    integers = coo(4, 5, dtype=torch.int64)
    agree(lambda x, y: (x + y, x * y), A, integers)
    agree(lambda d, x: d + x, torch.randn(4, 5, dtype=torch.float64), A)


def test_into_a_sparse_result():
    def out(x, y):
        return torch.add(x, y, out=torch.zeros_like(x))

    agree(out, A, B)


def test_masks():
    dense = torch.randn(4, 5)
    agree(torch.Tensor.sparse_mask, dense, COALESCED)
    agree(torch.Tensor.sparse_mask, B, COALESCED)
    agree(torch.Tensor.sparse_mask, torch.randn(4, 5, 3), HYBRID)
    agree(lambda x, y: x._sparse_mask_projection(y), B, A)
    agree(lambda x, y: x._sparse_mask_projection(y, True), B, A)


def test_refused():
    refused(lambda x, y: x + y, A, torch.randn(4, 5))
    with pytest.raises(RuntimeError, match="sizes"):
        A.to("neuron") + coo(5, 4).to("neuron")
    with pytest.raises(RuntimeError, match="shape of sparse dimensions"):
        A.to("neuron") * coo(5, 4).to("neuron")
    with pytest.raises(NotImplementedError, match="Could not run 'aten::exp'"):
        A.to("neuron").exp()
