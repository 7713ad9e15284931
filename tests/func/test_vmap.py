"""vmap is the CPU's: over ops, views and writes, with every in_dims and out_dims, and nested."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, random, refused
from torch.func import vmap

import torch_neuronx

B = random(3, 4, 5)
V = random(3, 5, seed=1)
SMALL = random(4, 5, seed=2)
INDEX = torch.tensor([[0, 2], [1, 1], [4, 3]])

# Functions of one lane: what it has of B, of V and of INDEX, and SMALL, which all lanes share.
LANES = {
    "pointwise": lambda b, v, i, s: torch.where(b > v, b.atan2(v), b * s),
    "matmul": lambda b, v, i, s: (b @ v, s @ b.t(), torch.einsum("ij,kj->ik", b, s)),
    "addmm and bmm": lambda b, v, i, s: (torch.addmm(s, b, b.t() @ b), torch.outer(v, v)),
    "reductions": lambda b, v, i, s: (b.sum(0), b.mean(), b.amax(-1), b.var(1), b.norm(), b.prod()),
    "extremum": lambda b, v, i, s: (b.max(1), b.argmin(), b.topk(2), b.sort(0), b.median(1)),
    "prefix": lambda b, v, i, s: (b.cumsum(1), v.cumprod(0), v.logcumsumexp(0)),
    "softmax": lambda b, v, i, s: (b.softmax(1), v.log_softmax(0), b.logsumexp(0)),
    "views": lambda b, v, i, s: (b.t()[1:], b.reshape(-1)[::3], v[None].expand(2, 5), b.diagonal()),
    "joining": lambda b, v, i, s: (torch.cat([b, s]), torch.stack([v, s[0]]), b.chunk(2, 1)),
    "padding and flips": lambda b, v, i, s: (F.pad(b, (1, 2)), b.flip(0), b.roll(1, 1), b.tril()),
    "take": lambda b, v, i, s: (v[i], v.gather(0, i), b.index_select(1, i), s[:, i]),
    "put": lambda b, v, i, s: v.scatter_add(0, i, v[:2]).index_put((i,), v[1:3], accumulate=True),
    "masks": lambda b, v, i, s: (b.masked_fill(b > 0, -1.0), s.where(b < 0, 0.0)),
    "embedding": lambda b, v, i, s: F.embedding(i, s.t()),
    "one hot": lambda b, v, i, s: F.one_hot(i, 5),
    "search": lambda b, v, i, s: torch.searchsorted(v.sort()[0], s.contiguous()),
    "norms": lambda b, v, i, s: (F.layer_norm(b, (5,), v, v), F.normalize(b), F.rms_norm(b, (5,))),
    "activations": lambda b, v, i, s: (F.gelu(b), F.silu(b), F.softplus(b), F.elu(b), b.relu()),
    "losses": lambda b, v, i, s: (F.mse_loss(b, s), F.cross_entropy(b[:2], i), F.kl_div(b, s)),
    "convolution": lambda b, v, i, s: F.conv1d(b[None], s[:, None, :3].expand(4, 4, 3), padding=1),
    "pooling": lambda b, v, i, s: (F.max_pool1d(b[None], 2), F.avg_pool2d(b[None], 2)),
    "interpolation": lambda b, v, i, s: F.interpolate(b[None], scale_factor=2, mode="linear"),
    "attention": lambda b, v, i, s: F.scaled_dot_product_attention(b[None], s[None], s[None]),
    "linear algebra": lambda b, v, i, s: (
        torch.linalg.solve(b @ b.t() + 9 * torch.eye(4, device=b.device), b),
        torch.linalg.cholesky(b @ b.t() + 9 * torch.eye(4, device=b.device)),
        torch.linalg.det(b @ b.t()),
    ),
    "fft": lambda b, v, i, s: torch.fft.rfft(v).abs(),
    "new tensors": lambda b, v, i, s: (b.new_zeros(2), torch.full_like(v, 2.0), b.new_ones(5) + b),
    "numbers": lambda b, v, i, s: (b.to(torch.int32), b.double(), (b * 3).round().long() % 3),
}  # fmt: skip

WRITES = {
    "pointwise": lambda b, v, i, s: b.mul_(v).add_(s, alpha=2).clamp_(-1, 1),
    "through views": lambda b, v, i, s: b.t()[1:3].copy_(s[:, :2].t()),
    "fill": lambda b, v, i, s: (b[0].zero_(), b[1].fill_(2.0), v.fill_(b[2, 2])),
    "index": lambda b, v, i, s: (v.index_add_(0, i, s[0, :2]), b.masked_fill_(b > 0, 0.0)),
    "index put": lambda b, v, i, s: v.index_put_((i,), s[0, :2], accumulate=True),
    "scatter": lambda b, v, i, s: (v.scatter_(0, i, 7.0), b.scatter_add_(1, i[None], s[:1, :2])),
    "set item": lambda b, v, i, s: (b.__setitem__((slice(None), 2), v[:4]), b.__setitem__(0, s[1])),
    "comparisons": lambda b, v, i, s: b.gt_(s).logical_not_(),
}


@pytest.mark.parametrize("name", LANES)
def test_an_op(name):
    with torch_neuronx.no_fallback():
        agree(vmap(LANES[name], in_dims=(0, 0, 0, None)), B, V, INDEX, SMALL, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", WRITES)
def test_a_write(name):
    def lane(b, v, i, s):
        WRITES[name](b, v, i, s)
        return b, v

    run = vmap(lane, in_dims=(0, 0, 0, None))

    with torch_neuronx.no_fallback():
        agree(run, B, V, INDEX, SMALL)


@pytest.mark.parametrize("in_dims", [(0, 0), (1, None), (-1, 0), (2, None)])
@pytest.mark.parametrize("out_dims", [0, 1, -1])
def test_dimensions(in_dims, out_dims):
    cube = random(3, 3, 3)
    agree(vmap(lambda x, y: x @ y.mT, in_dims, out_dims), cube, cube.transpose(0, 2))


def test_nested():
    agree(vmap(vmap(torch.dot, (None, 0)), (0, None)), V, V)
    agree(vmap(vmap(lambda x: x.sum() / x.numel(), 0), 1), B)


def test_chunks():
    agree(vmap(lambda x: x.square().sum(), chunk_size=2), B)


def test_results_that_no_lane_decides():
    agree(vmap(lambda x: torch.ones(2, device=x.device)), B)


def test_a_write_of_lanes_to_what_they_share_is_refused():
    refused(vmap(lambda shared, x: shared.add_(x), (None, 0)), V[0], V)


def test_a_number_of_a_lane_is_refused():
    refused(vmap(lambda x: x.sum().item()), V)
    refused(vmap(lambda x: x if x.sum() > 0 else -x), V)


def test_lanes_of_a_graph_share_a_program():
    run = vmap(lambda x: (x * 2).sum())
    run(V.to("neuron"))
    before = torch_neuronx.cache_info().requests
    run((V + 1).to("neuron"))
    assert torch_neuronx.cache_info().requests == before
