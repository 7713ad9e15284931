"""varlen_attn on the device: each document of a packed sequence attends to itself alone."""

import itertools

import pytest
import torch
from agreement import on, ours, random, same
from torch.nn.attention.varlen import AuxRequest, varlen_attn
from torch.nn.functional import scaled_dot_product_attention as sdpa

import torch_neuronx

NEAR = {"rtol": 1e-5, "atol": 1e-5}
BOUNDS = [0, 5, 5, 24]  # the second document is empty
LONGEST = 19


@pytest.fixture(autouse=True)
def on_the_device():
    with torch_neuronx.no_fallback():
        yield


def qkv(tokens=24, dtype=torch.float32):
    shapes = [(tokens, heads, 16) for heads in (4, 2, 2)]
    return [random(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]


def packed(q, k, v, bounds=BOUNDS, **options):
    cumulative = torch.tensor(bounds, dtype=torch.int32, device=q.device)
    return varlen_attn(
        q, k, v, cumulative, cumulative, LONGEST, LONGEST, enable_gqa=True, **options
    )


def by_document(q, k, v, window=(-1, -1), bounds=BOUNDS):
    results = []
    for begin, end in itertools.pairwise(bounds):
        parts = [x[begin:end].transpose(0, 1)[None] for x in (q, k, v)]
        back = torch.arange(end - begin)[:, None] - torch.arange(end - begin)[None, :]
        mask = torch.ones_like(back, dtype=torch.bool)
        if window[0] >= 0:
            mask &= back <= window[0]
        if window[1] >= 0:
            mask &= -back <= window[1]
        results.append(sdpa(*parts, attn_mask=mask, enable_gqa=True)[0].transpose(0, 1))
    return torch.cat(results)


def run(function, device, inputs):
    """[result, *gradients]"""
    leaves = [on(device, x).requires_grad_() for x in inputs]
    result = function(*leaves)
    (result * result.detach().cos()).sum().backward()
    return [result.detach(), *(x.grad for x in leaves)]


@pytest.mark.parametrize("window", [(-1, 0), (3, 0), (-1, -1), (2, 1)])
def test_each_document_is_on_its_own(window):
    function = ours(lambda q, k, v: packed(q, k, v, window_size=window))
    want = run(lambda q, k, v: by_document(q, k, v, window), "cpu", qkv())
    same(run(function, "neuron", qkv()), want, **NEAR)


def test_a_document_does_not_see_another():
    q, k, v = qkv()
    function = ours(lambda q, k, v: packed(q, k, v, window_size=(-1, 0)))
    before = function(*(on("neuron", x) for x in (q, k, v))).cpu()
    k[:5], v[:5] = 100.0, float("nan")
    after = function(*(on("neuron", x) for x in (q, k, v))).cpu()
    assert torch.equal(after[5:].isnan(), torch.zeros_like(after[5:], dtype=torch.bool))
    assert torch.equal(before[5:], after[5:])


def test_scale_and_logsumexp():
    def program(q, k, v):
        return packed(q, k, v, scale=0.5, return_aux=AuxRequest(lse=True))

    q, k, v = qkv()
    result, lse = ours(program)(*(on("neuron", x) for x in (q, k, v)))
    scores = torch.einsum("qhd,khd->hqk", q, k.repeat_interleave(2, 1)) * 0.5
    document = torch.tensor([0] * 5 + [2] * 19)
    scores = scores.masked_fill(document[:, None] != document[None, :], -torch.inf)
    same(lse, scores.logsumexp(-1), **NEAR)
    want = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v.repeat_interleave(2, 1))
    same(result, want, strides=False, **NEAR)


def test_other_lengths_need_no_new_program():
    function = ours(lambda q, k, v, c: varlen_attn(q, k, v, c, c, 24, 24, enable_gqa=True))
    inputs = [on("neuron", x) for x in qkv()]
    made = []
    for bounds in ([0, 5, 5, 24], [0, 1, 20, 24], [0, 8, 16, 24]):
        cumulative = torch.tensor(bounds, dtype=torch.int32, device="neuron")
        same(function(*inputs, cumulative), by_document(*qkv(), bounds=bounds), **NEAR)
        made.append(len(torch_neuronx.explain().rows))
    assert made[0] == made[2]


def test_keys_in_a_paged_cache():
    """Two documents of 3 and 6 keys, in pages of 4 of a pool of 5; queries are the last tokens."""
    page_table = torch.tensor([[3, 0], [1, 4]], dtype=torch.int32)
    used, queries = [3, 6], [0, 1, 3]
    q, pool_k, pool_v = random(3, 4, 16), random(5, 4, 2, 16, seed=1), random(5, 4, 2, 16, seed=2)

    def program(q, k, v, cumulative, used, page_table):
        return varlen_attn(
            q, k, v, cumulative, None, 2, 8, window_size=(-1, 0), enable_gqa=True,
            seqused_k=used, block_table=page_table,
        )  # fmt: skip

    integers = (torch.tensor(x, dtype=torch.int32) for x in (queries, used))
    inputs = [on("neuron", x) for x in (q, pool_k, pool_v, *integers, page_table)]
    want = []
    for n, (begin, end) in enumerate(((0, 1), (1, 3))):
        k, v = (
            pool[page_table[n].long()].reshape(8, 2, 16)[: used[n]] for pool in (pool_k, pool_v)
        )
        mask = torch.arange(used[n]) <= torch.arange(end - begin)[:, None] + used[n] - (end - begin)
        parts = [x.transpose(0, 1)[None] for x in (q[begin:end], k, v)]
        want.append(sdpa(*parts, attn_mask=mask, enable_gqa=True)[0].transpose(0, 1))
    same(ours(program)(*inputs), torch.cat(want), **NEAR)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes(dtype):
    function = ours(lambda q, k, v: packed(q, k, v, window_size=(-1, 0)))
    got = run(function, "neuron", qkv(dtype=dtype))
    want = run(
        lambda q, k, v: by_document(q, k, v, (-1, 0)), "cpu", [x.double() for x in qkv(dtype=dtype)]
    )
    assert all(g.dtype == dtype for g in got)
    # Sums of up to 19 products of rounded factors.
    error = 8 * torch.finfo(dtype).eps
    same([g.double() for g in got], want, rtol=error, atol=error)


@pytest.mark.parametrize(("left", "right", "is_causal"), [(None, None, True), (2, 1, False)])
def test_the_op_on_a_whole_batch(left, right, is_causal):
    """The last query and the last key are level."""
    q, k, v = random(2, 3, 4, 16), random(2, 7, 2, 16, seed=1), random(2, 7, 2, 16, seed=2)
    flash = torch.ops.aten._flash_attention_forward
    result, lse, *_ = ours(flash)(
        *(on("neuron", x) for x in (q, k, v)), None, None, 3, 7, 0.0, is_causal, False,
        window_size_left=left, window_size_right=right,
    )  # fmt: skip
    back = torch.arange(3)[:, None] + 4 - torch.arange(7)
    mask = back >= 0 if is_causal else (back <= left) & (-back <= right)
    heads = [x.transpose(1, 2) for x in (q, k, v)]
    want = sdpa(*heads, attn_mask=mask, enable_gqa=True).transpose(1, 2)
    same(result, want, strides=False, **NEAR)
    scores = heads[0] @ heads[1].repeat_interleave(2, 1).transpose(-2, -1) / 4
    same(lse, scores.masked_fill(~mask, -torch.inf).logsumexp(-1), **NEAR)
