"""Sums, norms, softmax and selections of COO tensors agree with the CPU."""

import pytest
import torch
from agreement import agree, refused
from sparse_samples import COALESCED, CUBE, HYBRID, A


@pytest.mark.parametrize("x", [A, COALESCED, HYBRID, CUBE])
def test_sums(x):
    agree(lambda x: (x.sum(), torch.sparse.sum(x), x.any(), x.norm()), x)
    for dims in (0, -1, (0, 1)):
        agree(lambda x, dims=dims: torch.sparse.sum(x, dims), x)


@pytest.mark.parametrize("x", [A, HYBRID, CUBE])
def test_softmax_along_each_dimension(x):
    for dim in range(x.dim()):
        agree(lambda x, dim=dim: torch.sparse.softmax(x, dim), x)
        agree(lambda x, dim=dim: torch.sparse.log_softmax(x, dim), x)


def test_softmax_refuses():
    refused(lambda x: torch.sparse.softmax(x, 4), A)
    refused(lambda x: torch.sparse.softmax(x, 0), A.to(torch.int64))


@pytest.mark.parametrize("x", [A, COALESCED, HYBRID])
def test_index_select(x):
    index = torch.tensor([1, 1, 0])
    for dim in range(x.dim()):
        agree(lambda x, i, dim=dim: x.index_select(dim, i), x, index)
    agree(lambda x, i: x.index_select(0, i), x, index[:0])


def test_index_select_refuses():
    refused(lambda x, i: x.index_select(0, i), A, torch.tensor([9]))
    refused(lambda x, i: x.index_select(3, i), A, torch.tensor([0]))
    refused(lambda x, i: x.index_select(0, i), A, torch.tensor([[0]]))


def test_rows():
    agree(lambda x: (x[1], x.select(1, 0)), A)
