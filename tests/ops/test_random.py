"""Random tensors: their distributions, ranges and independence, and what a bad parameter does.

Samples are compared with the exact distribution by the Kolmogorov-Smirnov test at p > 1e-4; seeds
are fixed, so a failure is a change of the generator and not bad luck.
"""

import math

import pytest
import torch
from scipy import stats

N = 100_000
DEVICE = "neuron"
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1234)


def follows(sample, cdf):
    assert stats.kstest(sample.double().cpu().numpy().reshape(-1), cdf).pvalue > 1e-4


def empty(dtype=torch.float32):
    return torch.empty(N, dtype=dtype, device=DEVICE)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_has_the_resolution_of_its_dtype(dtype):
    x = torch.rand(N, dtype=dtype, device=DEVICE).cpu()
    digits = 1 - int(math.log2(torch.finfo(dtype).eps))
    assert x.min() >= 0 and x.max() < 1
    assert torch.equal(x.double() * 2**digits, (x.double() * 2**digits).round())
    assert len(x.unique()) > min(0.98 * N, 0.9 * 2**digits)


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda: torch.rand(N, device=DEVICE), stats.uniform()),
        (lambda: torch.rand(N, dtype=torch.float64, device=DEVICE), stats.uniform()),
        (lambda: torch.rand_like(empty()), stats.uniform()),
        (lambda: empty().uniform_(-2, 3), stats.uniform(-2, 5)),
        (lambda: torch.randn(N, device=DEVICE), stats.norm()),
        (lambda: torch.randn(N, dtype=torch.float64, device=DEVICE), stats.norm()),
        (lambda: torch.randn(N, dtype=torch.complex64, device=DEVICE).real * 2**0.5, stats.norm()),
        (lambda: torch.randn_like(empty()), stats.norm()),
        (lambda: empty().normal_(1, 2), stats.norm(1, 2)),
        (lambda: torch.normal(empty().fill_(1), 2.0), stats.norm(1, 2)),
        (lambda: torch.normal(1.0, empty().fill_(2)), stats.norm(1, 2)),
        (lambda: torch.normal(empty().fill_(1), empty().fill_(2)), stats.norm(1, 2)),
        (lambda: torch.normal(1.0, 2.0, (N,), device=DEVICE), stats.norm(1, 2)),
        (lambda: empty().exponential_(2), stats.expon(scale=0.5)),
        (lambda: empty().cauchy_(1, 2), stats.cauchy(1, 2)),
        (lambda: empty().log_normal_(0.5, 0.7), stats.lognorm(0.7, scale=math.exp(0.5))),
    ],
)
def test_continuous(draw, distribution):
    follows(draw(), distribution.cdf)


def frequencies(x, bins):
    return torch.bincount(x.cpu().long(), minlength=bins).double() / x.numel()


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int32, torch.float32])
def test_integers(dtype):
    sigma = 5 / math.sqrt(N)
    for x in (
        torch.randint(10, (N,), dtype=dtype, device=DEVICE),
        empty(dtype).random_(10),
        empty(dtype).random_(3, 13) - 3,
    ):
        assert x.dtype == dtype
        torch.testing.assert_close(
            frequencies(x, 10), torch.full((10,), 0.1).double(), rtol=0, atol=sigma
        )


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int8, torch.int64, torch.float32, torch.bfloat16]
)
def test_random_without_bounds_spans_the_dtype(dtype):
    x = empty(dtype).random_().cpu().double()
    last = {torch.bool: 1, torch.float32: 2**24, torch.bfloat16: 2**8}.get(dtype)
    last = torch.iinfo(dtype).max if last is None else last
    assert x.min() >= 0 and 0.99 * last < x.max() <= last


def test_random_from_the_least_int64():
    x = torch.empty(N, dtype=torch.int64, device=DEVICE).random_(-(2**63), None).cpu()
    assert abs((x < 0).double().mean() - 0.5) < 5 / math.sqrt(N)


def test_geometric():
    x = empty().geometric_(0.3)
    assert x.min() == 1
    assert abs(x.mean().item() - 1 / 0.3) < 5 * math.sqrt(0.7) / 0.3 / math.sqrt(N)


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_randperm_is_a_permutation(n):
    assert torch.equal(torch.randperm(n, device=DEVICE).cpu().sort().values, torch.arange(n))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_coin(p):
    for x in (
        empty().bernoulli_(p),
        torch.bernoulli(empty().fill_(p)),
        torch.bernoulli(empty(torch.float64).fill_(p)),
        empty().bernoulli_(torch.tensor(p, device=DEVICE)),
    ):
        assert abs(x.double().mean().item() - p) <= 5 * math.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout(dtype):
    x = torch.ones(N, dtype=dtype, device=DEVICE)
    y, mask = torch.native_dropout(x, 0.3, True)
    assert abs(mask.double().mean().item() - 0.7) < 5 * math.sqrt(0.21 / N)
    scaled = torch.tensor(1 / 0.7, dtype=dtype)
    assert torch.equal(y.cpu(), torch.where(mask.cpu(), scaled, torch.zeros((), dtype=dtype)))
    assert torch.native_dropout(x, 1.0, True)[0].abs().sum() == 0
    assert torch.native_dropout(x, 0.3, False)[1].all()


def test_multinomial():
    weights = torch.tensor([[1.0, 0.0, 3.0, 6.0], [0.0, 0.0, 1.0, 1.0]], device=DEVICE)
    rows = torch.multinomial(weights, N, replacement=True)
    for row, want in zip(rows, ([0.1, 0, 0.3, 0.6], [0, 0, 0.5, 0.5]), strict=True):
        torch.testing.assert_close(
            frequencies(row, 4), torch.tensor(want).double(), rtol=0, atol=0.01
        )
    once = torch.multinomial(weights[:1].expand(N // 10, 4), 3).cpu()
    assert (once.sort(1).values == torch.tensor([0, 2, 3])).all()
    first = frequencies(once[:, 0], 4)
    torch.testing.assert_close(first, torch.tensor([0.1, 0, 0.3, 0.6]).double(), rtol=0, atol=0.03)


def test_rrelu_draws_a_slope_per_negative_element():
    x = torch.randn(N, device=DEVICE)
    y = torch.nn.functional.rrelu(x, 0.1, 0.3, training=True)
    negative = x.cpu() < 0
    slopes = (y.cpu() / x.cpu())[negative]
    follows(slopes, stats.uniform(0.1, 0.2).cdf)
    assert torch.equal(y.cpu()[~negative], x.cpu()[~negative])


def test_draws_are_fresh_and_seeds_repeat_them():
    first, second = torch.rand(100, device=DEVICE), torch.rand(100, device=DEVICE)
    assert not torch.equal(first, second)
    torch.manual_seed(1234)
    assert torch.equal(torch.rand(100, device=DEVICE), first)


def test_seeds_are_independent():
    rows = []
    for seed in range(100):
        torch.manual_seed(seed)
        rows.append(torch.rand(100, device=DEVICE).cpu())
    rows = torch.stack(rows)
    assert len(rows[:, 0].unique()) == 100
    correlation = torch.corrcoef(rows) - torch.eye(100)
    assert correlation.abs().max() < 0.5


def test_the_cpu_generator_is_left_alone():
    state = torch.get_rng_state()
    torch.randn(10, device=DEVICE)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "draw",
    [
        lambda d: torch.empty(3, device=d).normal_(0, -1),
        lambda d: torch.empty(3, device=d).uniform_(2, 1),
        lambda d: torch.empty(3, device=d).exponential_(-1),
        lambda d: torch.empty(3, device=d).geometric_(1.5),
        lambda d: torch.empty(3, device=d).bernoulli_(1.5),
        lambda d: torch.empty(3, device=d).random_(3, 1),
        lambda d: torch.bernoulli(torch.full((3,), 1.5, device=d)),
        lambda d: torch.normal(torch.zeros(3, device=d), -torch.ones(3, device=d)),
        lambda d: torch.multinomial(torch.tensor([-1.0, 2.0], device=d), 1),
        lambda d: torch.multinomial(torch.zeros(2, device=d), 1),
    ],
)
def test_bad_parameters_are_refused(draw):
    with pytest.raises(RuntimeError):
        draw("cpu")
    with pytest.raises(RuntimeError):
        draw(DEVICE)
