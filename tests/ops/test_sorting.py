"""sort, topk and what is read out of an order; search in sorted sequences; histograms."""

import pytest
import torch
from agreement import agree, on_device, refused

NAN, INF = float("nan"), float("inf")
DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
]  # fmt: skip


def with_ties(dtype, *shape):
    """Few distinct values; the extremes of the dtype, signed zeros, infinities and NaN among
    them.
    """
    values = torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(0))
    x = values.bool() if dtype == torch.bool else (values - 2 * dtype.is_signed).to(dtype)
    if dtype.is_floating_point:
        x.view(-1)[:7] = torch.tensor([NAN, -INF, 0.0, -0.0, INF, -NAN, NAN])
    elif dtype != torch.bool:
        x.view(-1)[:2] = torch.tensor([torch.iinfo(dtype).max, torch.iinfo(dtype).min])
    return x


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_stable_sort(dtype, descending):
    x = with_ties(dtype, 5, 9)
    for dim in (0, 1):
        agree(lambda x, dim=dim: x.sort(dim=dim, descending=descending, stable=True), x)


def picks(got, x, want, dim=-1):
    """Where ties leave the index open: equal values, and the index points at them."""
    values, index = got.values.cpu(), got.indices.cpu()
    torch.testing.assert_close(values, want.values, equal_nan=True)
    torch.testing.assert_close(x.gather(dim, index), values, equal_nan=True)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_topk_and_kthvalue(dtype, largest):
    for x in (with_ties(dtype, 5, 9), with_ties(dtype, 3, 200)):
        for k in (1, 4):
            picks(on_device(x).topk(k, largest=largest), x, x.topk(k, largest=largest))
            got, want = on_device(x).kthvalue(k, keepdim=True), x.kthvalue(k, keepdim=True)
            picks(got, x, want)


def test_median():
    x = torch.randperm(35).view(5, 7).float()
    agree(lambda x: (x.median(), *x.median(1), *x.nanmedian(0)), x)
    x[0, 2] = NAN
    agree(lambda x: (x.median(), x.nanmedian(), *x.median(1), *x.nanmedian(1)), x)


def test_mode():
    agree(lambda x: x.mode(1), torch.tensor([[1, 3, 3, 1, 2], [4, 4, 4, 0, 0], [5, 1, 2, 3, 4]]))


def test_small_and_empty():
    agree(lambda x: (*x.sort(), *x.topk(1), *x.kthvalue(1), *x.mode()), torch.tensor(3.0))
    agree(lambda x: (*x.sort(0), *x.sort(1)), torch.ones(0, 3))
    agree(lambda x: x.argsort(dim=0, stable=True), torch.randint(10, (10, 1)))
    agree(lambda x: (x.msort(), *x.sort(1)), torch.randperm(120).view(2, 3, 4, 5).float())


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bfloat16, torch.uint8])
def test_search(dtype, right):
    edges = torch.arange(0, 20, 2).to(dtype)
    values = torch.randint(0, 25, (3, 4), generator=torch.Generator().manual_seed(0)).to(dtype)
    agree(lambda e, v: torch.searchsorted(e, v, right=right), edges, values)
    agree(lambda e, v: torch.bucketize(v, e, right=right, out_int32=True), edges, values)
    rows = edges.repeat(3, 1)
    agree(lambda e, v: torch.searchsorted(e, v, right=right), rows, values)
    agree(lambda e: torch.searchsorted(e, 7, right=right), edges)


def test_search_places_nan_and_follows_a_sorter():
    agree(torch.searchsorted, torch.tensor([1.0, 2.0, NAN]), torch.tensor([NAN, 0.0, 5.0]))
    agree(
        lambda e, v, s: torch.searchsorted(e, v, sorter=s),
        torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1.5, 9.0]), torch.tensor([1, 2, 0]),
    )  # fmt: skip


@pytest.mark.parametrize("tests", [20, 100])
def test_isin(tests):
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 300, (6, 7), generator=generator)
    agree(torch.isin, x, torch.randint(0, 300, (tests,), generator=generator))
    agree(lambda x, t: torch.isin(x, t, invert=True), x.float(), torch.arange(float(tests)))
    agree(lambda x: (torch.isin(x, 4), torch.isin(4, x)), x)


def test_histc():
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    agree(lambda x: (x.histc(10, -1, 1), x.histc(), x[:0].histc(4), torch.ones_like(x).histc(3)), x)
    refused(lambda x: x.histc(5, 2, 1), x)
