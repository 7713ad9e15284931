"""Scatters of elements and of slices: every reduction, every dtype, duplicates, bad indices."""

import pytest
import torch
from agreement import agree, refused

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
]  # fmt: skip
INDEX = torch.tensor([[0, 3, 1], [2, 3, 1], [0, 0, 1], [3, 3, 3], [0, 1, 1], [2, 2, 0]])


def numbers(*shape, dtype=torch.float32, seed=0):
    values = torch.randint(-12, 12, shape, generator=torch.Generator().manual_seed(seed))
    return (values / 4 if dtype.is_floating_point else values).to(dtype)


def bounds(dtype):
    """A few updates summed in float32 and rounded once, against CPU's rounding of each sum."""
    narrow = dtype in (torch.float16, torch.bfloat16)
    return {"rtol": 8 * torch.finfo(dtype).eps, "atol": 0.05} if narrow else {}


def reductions(dtype):
    if dtype.is_complex:
        return ["sum", "prod"]
    return ["sum", "prod", "amax", "amin"] + ["mean"] * (dtype != torch.bool)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter_reduce(dtype, include_self):
    def fn(x, index, src):
        return [
            x.scatter_reduce(0, index, src, r, include_self=include_self) for r in reductions(dtype)
        ]

    agree(
        fn, numbers(5, 4, dtype=dtype), INDEX, numbers(6, 4, dtype=dtype, seed=1), **bounds(dtype)
    )


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter(dim):
    index = torch.randint(0, 4, (3, 4, 5), generator=torch.Generator().manual_seed(dim))
    x, src = numbers(4, 5, 6), numbers(4, 7, 8, seed=1)
    agree(lambda x, i, s: x.scatter(dim, i, s), x, index, src)
    agree(lambda x, i, s: x.scatter_add(dim, i, s), x, index, src)
    agree(lambda x, i, s: x.scatter(dim, i, 2.5), x, index, src)
    agree(lambda x, i, s: x.scatter_(dim, i, 2.5, reduce="multiply"), x, index, src)


def test_nan_wins_extrema():
    x, nan = torch.tensor([1.0, float("nan"), 3.0]), float("nan")
    index, src = torch.tensor([0, 1, 2, 0]), torch.tensor([nan, 5.0, 2.0, 7.0])
    agree(lambda x, i, s: x.scatter_reduce(0, i, s, "amax"), x, index, src)
    agree(lambda x, i, s: x.scatter_reduce(0, i, s, "amin", include_self=False), x, index, src)


@pytest.mark.parametrize("bad", [4, -1, 2**40])
def test_bad_element_index_changes_nothing(bad):
    index = torch.tensor([[0, bad], [1, 2]])
    x, src = numbers(4, 4), numbers(2, 2, seed=1)
    refused(lambda x, i, s: x.scatter_(0, i, s), x, index, src)
    refused(lambda x, i, s: x.scatter_add_(0, i, s), x, index, src)
    refused(lambda x, i, s: x.scatter_reduce_(0, i, s, "amax"), x, index, src)


def test_a_row_per_index():
    """An index that is expanded along the rows writes whole rows; a permutation is undone by
    gather.
    """
    order = torch.stack([torch.randperm(8), torch.randperm(8)])

    def fn(x, order):
        order = order.unsqueeze(-1).expand(-1, -1, 5)
        out = torch.zeros_like(x).scatter_(1, order, x)
        return out, out.gather(1, order)

    agree(fn, numbers(2, 8, 5), order)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices(dtype):
    x, src = numbers(4, 5, 3, dtype=dtype), numbers(4, 6, 3, dtype=dtype, seed=1)
    index = torch.tensor([0, 3, 0, 1, 3, 4])
    agree(lambda x, i, s: x.index_copy(1, i, s), x, index, src)
    agree(lambda x, i, s: x.index_fill(1, i[:2] - 2, 1), x, index, src)
    alpha = {} if dtype == torch.bool else {"alpha": 2}
    agree(lambda x, i, s: x.index_add(1, i, s, **alpha), x, index, src, **bounds(dtype))
    agree(lambda x, i, s: x.put(i - 5, s[0, :2], accumulate=True), x, index, src, **bounds(dtype))


@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_index_reduce(reduce, include_self):
    def fn(x, i, s):
        return x.index_reduce(1, i, s, reduce, include_self=include_self)

    index = torch.tensor([0, 3, 0, 1])
    agree(fn, numbers(3, 5), index, numbers(3, 4, seed=1))
    agree(fn, numbers(3, 5, dtype=torch.int64), index, numbers(3, 4, dtype=torch.int64, seed=1))


def test_bad_slice_index_changes_nothing():
    x, index, src = numbers(4, 2), torch.tensor([0, 5]), numbers(2, 2, seed=1)
    refused(lambda x, i, s: x.index_add_(0, i, s), x, index, src)
    refused(lambda x, i, s: x.index_copy_(0, i, s), x, index, src)
    refused(lambda x, i, s: x.index_fill_(0, i, 1.0), x, index, src)
    refused(lambda x, i, s: x.index_reduce_(0, i, s, "amax"), x, index, src)
    refused(lambda x, i, s: x.put_(i * 9, s[0]), x, index, src)


def test_nothing_to_write():
    empty = torch.tensor([], dtype=torch.int64)
    agree(lambda x, i: x.index_copy(0, i, x[:0]), torch.empty(0, 3), empty)
    agree(lambda x, i: x.scatter(0, i.view(0, 1), x), numbers(4, 2), empty)
    agree(lambda x, i: x.index_add(0, i, x[:0]), numbers(4, 2), empty)
