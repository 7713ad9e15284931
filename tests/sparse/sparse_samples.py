"""Sparse tensors on the CPU that the tests of this folder share."""

import torch


def coo(*sizes, entries=9, dense=(), dtype=torch.float32, seed=0):
    """Entries at random places, some of them twice: not coalesced."""
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randint(size, (entries,), generator=generator) for size in sizes]
    values = torch.randn(entries, *dense, generator=generator) * 4
    values = torch.complex(values, -values).to(dtype) if dtype.is_complex else values.to(dtype)
    indices = torch.stack(rows) if rows else torch.zeros(0, entries, dtype=torch.int64)
    return torch.sparse_coo_tensor(indices, values, (*sizes, *dense), check_invariants=True)


A = coo(4, 5)
B = coo(4, 5, entries=7, seed=1)
NOTHING = coo(4, 5, entries=0)
HYBRID = coo(4, 5, dense=(3,))
CUBE = coo(2, 3, 4, entries=10)
COALESCED = A.coalesce()
COO = {
    "uncoalesced": A,
    "coalesced": COALESCED,
    "hybrid": HYBRID,
    "empty": NOTHING,
    "integers": coo(4, 5, dtype=torch.int64),
    "three dimensions": CUBE,
}

MATRIX = torch.tensor([[1.0, 0, 2], [0, 0, 0], [3, 4, 0], [0, 5, 0]])
OTHER = torch.tensor([[0.0, 0, 2], [0, 1, 0], [3, -4, 0], [0, 5, 1]])
COMPRESSED = {
    "csr": MATRIX.to_sparse_csr(),
    "csc": MATRIX.to_sparse_csc(),
    "bsr": MATRIX.to_sparse_bsr((2, 1)),
    "bsc": MATRIX.to_sparse_bsc((2, 1)),
}
