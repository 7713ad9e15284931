"""Gradients through sparse tensors agree with the CPU."""

import pytest
import torch
from agreement import agree
from sparse_samples import COMPRESSED, MATRIX, OTHER, A

CSR = COMPRESSED["csr"]


def gradients(function):
    """Of the sum of squares of a result, dense or sparse, by all arguments."""

    def run(*args):
        leaves = [x.detach().clone().requires_grad_() for x in args]
        result = function(*leaves)
        if result.layout is not torch.strided:
            result = result.to_dense()
        result.square().sum().backward()
        return [x.grad for x in leaves]

    return run


def test_of_values_and_layouts():
    agree(gradients(lambda x: x.to_dense()), MATRIX.to_sparse())
    agree(gradients(lambda x: x.to_dense()), CSR)
    agree(gradients(lambda x: x.to_sparse()), MATRIX)
    agree(gradients(lambda x: x.coalesce().values()), A)


def test_of_a_tensor_made_of_values():
    places, one = MATRIX.to_sparse().indices(), torch.ones(3, 2)

    def coo(values):
        there = places.to(values.device)
        return torch.sparse_coo_tensor(there, values, (4, 3)) @ one.to(values.device)

    def csr(values):
        rows, cols = CSR.crow_indices().to(values.device), CSR.col_indices().to(values.device)
        return torch.sparse_csr_tensor(rows, cols, values, (4, 3)) @ one.to(values.device)

    agree(gradients(coo), CSR.values())
    agree(gradients(csr), CSR.values())


@pytest.mark.parametrize("x", [MATRIX.to_sparse(), CSR])
@pytest.mark.parametrize("product", [torch.mm, torch.sparse.mm])
def test_of_products_with_dense(x, product):
    agree(gradients(product), x, torch.randn(3, 2))


def test_of_a_product_of_two_sparse():
    agree(gradients(torch.sparse.mm), MATRIX.to_sparse(), torch.randn(3, 2).to_sparse())


def test_element_by_element():
    agree(gradients(lambda x, y: x * y), MATRIX.to_sparse(), OTHER.to_sparse())
    agree(gradients(lambda x, y: x + 2 * y), MATRIX.to_sparse(), OTHER.to_sparse())


@pytest.mark.parametrize("dim", [0, 1])
def test_of_reductions(dim):
    agree(gradients(lambda x: torch.sparse.sum(x, dim)), MATRIX.to_sparse())
    agree(gradients(lambda x: torch.sparse.softmax(x, dim)), MATRIX.to_sparse())
    agree(gradients(lambda x: torch.sparse.log_softmax(x, dim)), MATRIX.to_sparse())
