"""Reported failures of indexing, scatter and sorting (rows 1 to 19)."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device as agree
from agreement import fastest_seconds, on, random

DEVICE = "neuron"


def test_01_index_keeps_int64():
    def program(device):
        t = torch.full((10,), 5, dtype=torch.int64, device=device)
        big = torch.arange(2**32, 2**32 + 10, device=device)
        index = torch.arange(10, device=device)
        return t[index], big[index], big.index_select(0, index.flip(0))

    assert agree(program)[0].tolist() == [5] * 10


@pytest.mark.parametrize("stable", [False, True])
def test_02_argsort_of_a_column(stable):
    column = torch.randint(10, (10, 1), generator=torch.Generator().manual_seed(0))
    order = on(DEVICE, column).argsort(dim=0, stable=stable)
    gathered = on(DEVICE, column).gather(0, order).cpu()
    assert torch.equal(gathered, column.sort(dim=0).values)
    if stable:
        assert torch.equal(order.cpu(), column.argsort(dim=0, stable=True))


@pytest.mark.parametrize("bad", [2**31 - 1, -5, 2**63 - 1])
def test_03_index_add_out_of_range_changes_nothing(bad):
    x = torch.zeros(4, device=DEVICE)
    with pytest.raises(IndexError):
        x.index_add_(0, torch.tensor([0, bad], device=DEVICE), torch.ones(2, device=DEVICE))
    assert x.tolist() == [0, 0, 0, 0]


def test_04_reads_out_of_range_raise():
    with pytest.raises(IndexError):
        torch.ones(3, device=DEVICE).index_select(0, torch.tensor([5], device=DEVICE))
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([7], device=DEVICE), torch.ones(3, 2, device=DEVICE))
    assert torch.ones(3, device=DEVICE).sum().item() == 3  # still usable


def test_05_masked_select():
    def program(device):
        x = torch.tensor([1, 2, 3], device=device)
        mask = torch.tensor([True, False, True], device=device)
        return x.masked_select(mask), x.masked_select(mask & False)

    selected, empty = agree(program)
    assert selected.tolist() == [1, 3]
    assert empty.shape == (0,)


def test_06_gather_of_expanded_rows():
    x, rows = random(4096, 256), torch.randperm(4096)

    def program(device):
        index = on(device, rows).view(-1, 1).expand(-1, 256)
        return on(device, x).gather(0, index)

    agree(program)
    device_x, device_rows = on(DEVICE, x), on(DEVICE, rows)
    index = device_rows.view(-1, 1).expand(-1, 256)
    gather = fastest_seconds(lambda: device_x.gather(0, index))
    select = fastest_seconds(lambda: device_x.index_select(0, device_rows))
    assert gather <= 10 * select


def test_06_scatter_of_width_4096():
    columns = torch.stack([torch.randperm(4096) for _ in range(3)])
    agree(
        lambda device: torch.zeros(3, 4096, device=device).scatter_(
            1, on(device, columns), on(device, random(3, 4096))
        )
    )


def test_07_scatter_by_a_permutation_is_undone_by_gather():
    ids, x = torch.stack([torch.randperm(16) for _ in range(2)]), random(2, 16, 8)
    index = on(DEVICE, ids).unsqueeze(-1).expand(-1, -1, 8)
    out = torch.zeros(2, 16, 8, device=DEVICE).scatter_(1, index, on(DEVICE, x))
    assert torch.equal(out.gather(1, index).cpu(), x)


def test_08_repeat_interleave():
    def program(device):
        repeats = torch.tensor([2, 0, 1], device=device)
        return torch.tensor([1, 2, 3], device=device).repeat_interleave(repeats)

    assert agree(program).tolist() == [1, 1, 3]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_09_embedding_bag_max(requires_grad):
    def program(device):
        weight = torch.full((5, 3), -1.0, device=device, requires_grad=requires_grad)
        offsets = torch.tensor([0, 3], device=device)
        return F.embedding_bag(torch.arange(5, device=device), weight, offsets, mode="max")

    assert torch.equal(agree(program).detach().cpu(), torch.full((2, 3), -1.0))


def test_10_topk_smallest():
    def program(device):
        x = torch.tensor([[3, 1], [2, 5]], device=device)
        values, indices = x.new_empty(0), x.new_empty(0)
        torch.topk(x, 1, dim=0, largest=False, out=(values, indices))
        return *torch.topk(x, 1, dim=0, largest=False), values, indices

    values, indices, *_ = agree(program)
    assert values.tolist() == [[2, 1]]
    assert indices.tolist() == [[1, 0]]


def test_11_max_prefers_nan():
    values, indices = agree(
        lambda device: torch.tensor([[1, torch.nan], [2, 2]], device=device).max(1)
    )
    assert indices.tolist() == [1, 0]
    assert values.isnan().tolist() == [True, False]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_12_argmax_of_softmax(dtype):
    result = agree(lambda device: on(device, random(4, 2, dtype=dtype)).softmax(-1).argmax(-1))
    assert result.dtype is torch.int64


def test_13_comparisons_are_bool():
    def program(device):
        x = torch.tensor([[0, 1], [3, 1]], device=device)
        return x == 1, torch.ne(x, x.t())

    assert {r.dtype for r in agree(program)} == {torch.bool}


def test_14_gt():
    agree(lambda device: torch.gt(on(device, random(64, 64)), on(device, random(64, 64, seed=1))))


def test_15_reductions_of_bool():
    def program(device):
        x = on(device, random(3, 5) > 0)
        return x.any(), x.all(), x.any(1), x.all(0), x.amax(1), x.amin(0), *x.max(1), *x.min(0)

    agree(program)


def test_16_assorted_operators():
    def program(device):
        v, g = on(device, random(4, 3)), on(device, random(4, 1, seed=1)).abs()
        grid = on(device, random(1, 2, 2, 2, seed=2)).clamp(-1, 1)
        put = torch.zeros(5, device=device).index_put(
            (torch.tensor([1, 1, 3], device=device),), torch.ones(3, device=device), accumulate=True
        )
        return (
            torch._weight_norm(v, g, 0),
            put,
            torch.tensor([1, -2, 0], device=device).bitwise_not(),
            F.grid_sample(on(device, random(1, 1, 4, 4)), grid, align_corners=False),
            torch.tensor([0, 1, 0, 2], device=device).nonzero(),
            v.clamp_min(0.5),
            torch.ones(5, dtype=torch.int32, device=device).cumsum(0),
        )

    *_, nonzero, _, cumsum = agree(program)
    assert nonzero.tolist() == [[1], [3]]
    assert cumsum.dtype is torch.int64


def test_17_index_copy_of_nothing():
    def program(device):
        x = torch.empty(0, 3, device=device)
        return x.index_copy(0, torch.empty(0, dtype=torch.int64, device=device), x)

    agree(program)


def test_18_random_getitems():
    generator = torch.Generator().manual_seed(0)

    def draw(n):
        return int(torch.randint(n, (), generator=generator))

    keys = []
    for _ in range(50):
        basic = [0, slice(None), None, ..., slice(draw(30), None, 1 + draw(3)), draw(60) - 30]
        listed = torch.randint(-64, 64, (4,), generator=generator)
        keys.append(
            [
                (0, slice(draw(60), None, 1 + draw(4)), draw(4096)),
                (slice(None), listed),
                (0, listed, slice(draw(100), 200)),
                (..., torch.randint(0, 4096, (2, 3), generator=generator)),
                (0, listed.view(4, 1), torch.randint(4096, (5,), generator=generator)),
                (0, basic[4], None, ..., slice(None, None, 1 + draw(100))),
                (slice(None), basic[5], ...),
            ][draw(7)]
        )
    x = random(1, 64, 4096)

    def move(key, device):
        return tuple(k.to(device) if isinstance(k, torch.Tensor) else k for k in key)

    for key in keys:
        agree(lambda device, key=key: on(device, x)[move(key, device)])


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
    ],
    ids=str,
)
def test_19_scatter_reduce(reduce, dtype):
    source = torch.randint(1, 5, (3, 4), generator=torch.Generator().manual_seed(0)).to(dtype)
    index = torch.tensor([[0, 1, 0, 2], [1, 1, 0, 2], [0, 0, 0, 0]])

    def program(device):
        start = torch.full((4, 4), 3, dtype=dtype, device=device)
        return start.scatter_reduce(
            0, on(device, index), on(device, source), reduce, include_self=False
        )

    agree(program)
