"""Matrix products with COO matrices agree with the CPU."""

import pytest
import torch
from agreement import agree
from sparse_samples import COALESCED, CUBE, NOTHING, A, coo

DENSE = torch.randn(5, 3)


@pytest.mark.parametrize("x", [A, COALESCED, NOTHING])
def test_sparse_by_dense(x):
    agree(lambda x, y: (x @ y, torch.sparse.mm(x, y), x @ y[:, 0], y.t() @ x.t()), x, DENSE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.complex64])
def test_by_dtype(dtype):
    agree(torch.mm, coo(4, 5, dtype=dtype), DENSE.to(dtype))


def test_added():
    def added(c, x, y):
        return torch.addmm(c, x, y, beta=0.5, alpha=2), torch.sparse.addmm(c, x, y, alpha=3)

    agree(added, torch.randn(4, 3), A, DENSE)
    agree(torch.addmm, torch.randn(3), A, DENSE)
    agree(lambda c, x, y: torch.addmm(c, x, y, beta=0), torch.full((4, 3), torch.nan), A, DENSE)
    agree(lambda c, x, y: c.addmm_(x, y), torch.randn(4, 3), A, DENSE)
    agree(lambda c, x, y: torch.mm(x, y, out=c), torch.randn(4, 3), A, DENSE)


def test_in_batches():
    agree(torch.bmm, CUBE, torch.randn(2, 4, 5))


def test_sparse_by_sparse():
    agree(torch.sparse.mm, A, coo(5, 6, entries=8))
    agree(torch.mm, COALESCED, coo(5, 6, entries=8).coalesce())
    agree(torch.mm, COALESCED, coo(5, 6, entries=0))


def test_with_a_sparse_result():
    agree(torch.hspmm, A, DENSE)
    agree(torch.smm, A, DENSE)
    agree(lambda c, x, y: torch.sspaddmm(c, x, y, beta=2, alpha=3), coo(4, 3), A, DENSE)


def test_refused():
    x = A.to("neuron")
    with pytest.raises(RuntimeError, match="Expected dim 0 size 5, got 4"):
        x @ torch.randn(4, 3, device="neuron")
    with pytest.raises(RuntimeError, match="dtype"):
        x @ DENSE.to("neuron", torch.float64)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.sparse.mm(x, x)


def test_many_rows_in_one_program():
    """As many programs for a product as for a dense one: nothing is launched step by step."""
    import torch_neuronx

    x, y = coo(50, 40, entries=300).to("neuron"), torch.randn(40, 16).to("neuron")
    x @ y
    torch_neuronx.clear_op_tracking()
    x @ y
    assert "neuron::spmm" in torch_neuronx.get_executed_ops()
    assert len(torch_neuronx.get_executed_ops()) <= 2
