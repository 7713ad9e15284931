"""Reading and writing by index tensors and masks, embeddings, and what a bad index does."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, refused

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


def numbers(*shape, dtype=torch.float32, seed=0):
    values = torch.randint(-40, 40, shape, generator=torch.Generator().manual_seed(seed))
    return (values / 8).to(dtype)


ROWS, J = torch.tensor([2, 0, -1, 3]), torch.tensor([[1, 4, -5, 0]])
INDICES = {
    "first": (ROWS,),
    "second": (slice(None), J),
    "last": (..., J),
    "pair": (ROWS, J),
    "apart": (ROWS, slice(None), J),
    "adjacent": (slice(None), ROWS, J),
    "all": (ROWS, J, ROWS),
    "outer": (torch.tensor([[0], [1]]), slice(1, 4), torch.tensor([2, 3])),
    "scalar": (torch.tensor(2),),
    "empty": (torch.tensor([], dtype=torch.int64),),
    "int32": (ROWS.int(),),
    "new_axis": (None, ROWS),
}


def moved(index, x):
    return tuple(i.to(x.device) if isinstance(i, torch.Tensor) else i for i in index)


@pytest.mark.parametrize("name", INDICES)
def test_advanced_indexing(name):
    x = numbers(4, 5, 6)

    def write(x, values):
        x[moved(INDICES[name], x)] = values

    def accumulate(x, values):
        x.index_put_((ROWS.to(x.device), J.to(x.device)), values, accumulate=True)

    agree(lambda x: x[moved(INDICES[name], x)], x)
    agree(write, x, numbers(*x[INDICES[name]].shape, seed=1))
    agree(accumulate, x, numbers(1, 4, 6, seed=1))


@pytest.mark.parametrize("bad", [([7],), (None, [-6]), ([2**40],), ([0], None, [6])])
def test_index_out_of_range(bad):
    index = [None if b is None else torch.tensor(b) for b in bad]

    def moved_index(x):
        return [None if i is None else i.to(x.device) for i in index]

    aten, x = torch.ops.aten, numbers(4, 5, 6)
    refused(lambda x: aten.index(x, moved_index(x)), x)
    refused(lambda x: aten.index_put_(x, moved_index(x), x.new_ones(())), x)


def test_last_of_several_writes_wins():
    def write(x, values):
        x[torch.tensor([0, 1, 0, 1, 0], device=x.device)] = values

    agree(write, torch.zeros(2), torch.arange(5.0))


def test_masks():
    x, rows, columns = numbers(4, 5, 6), torch.tensor([True, False, True, True]), numbers(5) > 0

    def write(mask_of, values_of):
        def fn(x, rows, columns):
            x[mask_of(x, rows, columns)] = values_of(x)

        agree(fn, x, rows, columns)

    write(lambda x, r, c: x > 0, lambda x: 0.0)
    write(lambda x, r, c: r, lambda x: x[:3] * 2)
    write(lambda x, r, c: (slice(None), c), lambda x: 7.0)
    write(lambda x, r, c: (r, 2), lambda x: 7.0)
    write(lambda x, r, c: (r, torch.tensor([1, 4, 0], device=x.device)), lambda x: x[0, :3] * 2)
    agree(lambda x, r, c: (x[x > 0], x[r], x[:, c], x[x > 100]), x, rows, columns)
    agree(lambda x, r, c: x.masked_select(r[:, None, None]), x, rows, columns)
    agree(lambda x, r, c: x.masked_scatter(x > 0, x * 2), x, rows, columns)
    refused(lambda x, r, c: x.masked_scatter_(x > 0, x[0, 0, :1]), x, rows, columns)
    refused(lambda x, r, c: x.index_put_((r,), x[:2]), x, rows, columns)


@pytest.mark.parametrize("dtype", DTYPES)
def test_select_gather_take(dtype):
    x = numbers(4, 5, 6, dtype=dtype)
    index = torch.randint(0, 4, (3, 5, 2), generator=torch.Generator().manual_seed(0))
    agree(lambda x, i: x.index_select(-1, i[0, 0]), x, index)
    agree(lambda x, i: x.gather(0, i), x, index)
    agree(lambda x, i: x.gather(0, i[:1, :, :1].expand(1, 5, 6)), x, index)
    agree(lambda x, i: x.take(i - 60), x, index)
    agree(lambda x, i: x.take_along_dim(i[:, :, :1], 0), x, index)


def test_reads_out_of_range():
    x = numbers(3, 4)
    refused(lambda x, i: x.index_select(0, i), x, torch.tensor([0, 5]))
    refused(lambda x, i: x.index_select(0, i), x, torch.tensor([-1]))
    refused(lambda x, i: x.gather(1, i), x, torch.tensor([[4]]))
    refused(lambda x, i: x.take(i), x, torch.tensor([12]))
    refused(lambda x, i: F.embedding(i, x), x, torch.tensor([3]))


@pytest.mark.parametrize("by_freq", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_embedding_and_its_gradient(dtype, padding, by_freq):
    index = torch.tensor([[0, 2, 2, 5], [6, 2, 0, 1]])

    def fn(w, index):
        w = w.detach().clone().requires_grad_()
        rows = F.embedding(index, w, padding, scale_grad_by_freq=by_freq)
        (rows * rows).sum().backward()
        return rows.detach(), w.grad

    agree(fn, numbers(7, 3, dtype=dtype), index)


def test_embedding_max_norm():
    agree(lambda w, i: (F.embedding(i, w, max_norm=0.9), w), numbers(7, 3), torch.tensor([1, 1, 4]))


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_and_its_gradient(mode, last, padding):
    index = torch.tensor([0, 2, 2, 5, 6, 2, 0, 1])
    offsets = torch.tensor([0, 3, 3, 6, *[8] * last])

    def fn(w, index, offsets):
        w = w.detach().clone().requires_grad_()
        bags = F.embedding_bag(
            index, w, offsets, mode=mode, include_last_offset=last, padding_idx=padding
        )
        (bags * bags).sum().backward()
        return bags.detach(), w.grad

    agree(fn, numbers(7, 3), index, offsets)


def test_embedding_bag_sample_weights():
    def fn(w, weights, index):
        weights = weights.detach().clone().requires_grad_()
        offsets = torch.tensor([0, 3], device=w.device)
        bags = F.embedding_bag(index, w, offsets, mode="sum", per_sample_weights=weights)
        (bags * bags).sum().backward()
        return bags.detach(), weights.grad

    agree(fn, numbers(7, 3), numbers(5), torch.tensor([0, 2, 2, 5, 6]))


@pytest.mark.parametrize("size", [0, 2, 5, 9])
def test_nonzero_of_a_known_size(size):
    x = torch.tensor([[0, 3, 0], [1, 0, 0], [0, 2, 7]])
    fn = torch.nonzero_static
    agree(lambda x: [fn(x, size=size), fn(x.t(), size=size, fill_value=-7)], x)
    agree(lambda x: fn(x[0], size=size), x.float() / 0)
    agree(lambda x: [fn(x[0, 0], size=size), fn(x[:0], size=size)], x)
