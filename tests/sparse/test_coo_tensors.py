"""COO tensors are made, moved, stored and shown as on the CPU."""

import copy
import io
import pickle

import pytest
import torch
from agreement import agree, refused, same
from sparse_samples import COALESCED, COO, CUBE, HYBRID, A, B, coo


@pytest.mark.parametrize("name", COO)
def test_there_and_back(name):
    there = COO[name].to("neuron")
    assert there.device.type == "neuron"
    assert there.is_coalesced() == COO[name].is_coalesced()
    assert there._nnz() == COO[name]._nnz()
    back = there.cpu()
    assert torch.equal(back._indices(), COO[name]._indices())
    assert torch.equal(back._values(), COO[name]._values())


@pytest.mark.parametrize("name", COO)
def test_coalesce_and_to_dense(name):
    agree(lambda x: (x.coalesce(), x.coalesce().indices(), x.to_dense()), COO[name], strides=False)


@pytest.mark.parametrize("dtype", [torch.bool, torch.complex64, torch.bfloat16, torch.float64])
def test_coalesce_by_dtype(dtype):
    agree(torch.Tensor.coalesce, coo(4, 5, entries=12, dtype=dtype))


def test_made_from_parts_on_the_device():
    indices, values = A._indices(), A._values()
    agree(lambda i, v: torch.sparse_coo_tensor(i, v, (4, 5)), indices, values)
    agree(lambda i, v: torch.sparse_coo_tensor(i, v), indices, values)
    same(torch.sparse_coo_tensor(indices, values, (4, 5), device="neuron"), A)
    agree(lambda v: torch.zeros_like(v.to_sparse()), values)
    agree(lambda v: torch.empty((2, 3), layout=torch.sparse_coo, device=v.device), values)


def test_invariants_are_checked_where_asked():
    outside = torch.tensor([[0, 9]])
    refused(
        lambda i, v: torch.sparse_coo_tensor(i, v, (4,), check_invariants=True),
        outside,
        torch.ones(2),
    )


@pytest.mark.parametrize("sparse_dims", [1, 2])
def test_from_dense(sparse_dims):
    import torch_neuronx

    dense = torch.randn(4, 5).relu()
    want = dense.to_sparse(sparse_dims)
    with torch_neuronx.no_fallback():
        same(dense.to("neuron").to_sparse(sparse_dims), want)


def test_parts_of_an_uncoalesced_tensor_are_refused():
    refused(torch.Tensor.indices, A)
    refused(torch.Tensor.values, A)


@pytest.mark.parametrize("x", [A, COALESCED, HYBRID, CUBE])
def test_shapes(x):
    agree(lambda x: (x.transpose(0, 1), x.unsqueeze(1), torch.cat([x, x], 1)), x)
    agree(lambda x: torch.stack([x, x]), x)
    agree(lambda x: x.clone().zero_(), x)
    agree(lambda x: x.to(torch.float64), x)
    agree(lambda x: x.narrow_copy(1, 1, 2), x)


def test_resizing():
    agree(lambda x: x.sparse_resize_((6, 6), 2, 0), A.clone())
    agree(lambda x: x.sparse_resize_and_clear_((6, 6), 2, 0), A.clone())
    agree(lambda x, y: x.clone().resize_as_sparse_(y), A, coo(6, 6))
    agree(lambda x, y: x.clone().copy_(y), A, B)


def test_copies_of_every_kind():
    there = A.to("neuron")
    stream = io.BytesIO()
    torch.save(there, stream)
    stream.seek(0)
    for copied in (
        copy.deepcopy(there),
        there.clone(),
        pickle.loads(pickle.dumps(there)),
        torch.load(stream),
    ):
        same(copied, A)
        assert copied.device.type == "neuron"


def test_printing_names_the_device():
    shown = repr(COALESCED.to("neuron"))
    assert shown.startswith("tensor(indices=")
    assert "device='neuron:0'" in shown
    assert "layout=torch.sparse_coo" in shown
