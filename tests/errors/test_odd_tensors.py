"""NaN and infinities, empty and 0-d tensors, through operators of every family: as on the CPU."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, agree_by_device

NAN, INF = float("nan"), float("inf")
ODD = torch.tensor([[0.5, NAN, -1.0, INF], [-INF, 2.0, -0.0, 3.0], [NAN, INF, -INF, 1.0]])

OPERATORS = {
    "add": lambda x: x + x.flip(0),
    "mul": lambda x: x * 0,
    "div": lambda x: x / x.flip(1),
    "remainder": lambda x: x % 2,
    "pow": lambda x: x**2,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "tanh": lambda x: x.tanh(),
    "floor": lambda x: x.floor(),
    "round": lambda x: x.round(),
    "sign": lambda x: x.sign(),
    "clamp": lambda x: x.clamp(-1, 1),
    "relu": lambda x: F.relu(x),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "sigmoid": lambda x: x.sigmoid(),
    "softplus": lambda x: F.softplus(x),
    "maximum": lambda x: torch.maximum(x, x.flip(0)),
    "fmax": lambda x: torch.fmax(x, x.flip(0)),
    "compare": lambda x: (x == x, x < 1, x >= x.flip(0), x.isnan(), x.isinf(), x.isfinite()),
    "nan_to_num": lambda x: x.nan_to_num(0.0, 1.0, -1.0),
    "where": lambda x: torch.where(x > 0, x, -x),
    "sum": lambda x: (x.sum(), x.nansum(), x.sum(1)),
    "mean": lambda x: (x.mean(0), x.nanmean(0)),
    "var": lambda x: x.var(1),
    "prod": lambda x: x.prod(0),
    "max": lambda x: (x.max(), x.max(1), x.amax(0), x.argmax(1)),
    "min": lambda x: (x.min(), x.min(0), x.amin(1), x.argmin(0)),
    "median": lambda x: (x.median(1), x.nanmedian(1)),
    "logsumexp": lambda x: x.logsumexp(1),
    "norm": lambda x: x.norm(dim=1),
    "all": lambda x: (x.all(1), x.any(0)),
    "cumsum": lambda x: x.cumsum(1),
    "cummax": lambda x: x.cummax(1),
    "sort": lambda x: x.sort(dim=1, stable=True),
    "topk": lambda x: x.topk(2, 1)[0],
    "unique": lambda x: x[1].unique(),
    "softmax": lambda x: (x.softmax(1), x.log_softmax(1)),
    "masked_softmax": lambda x: x.masked_fill(x.isnan(), -INF).softmax(1),
    "matmul": lambda x: x @ x.t(),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "max_pool": lambda x: F.max_pool2d(x[None, None], 2),
    "avg_pool": lambda x: F.avg_pool2d(x[None, None], 2),
    "conv": lambda x: F.conv1d(x[None], x[:, :3, None] * 0 + 1),
    "mse": lambda x: F.mse_loss(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2], device=x.device)),
    "index": lambda x: x[torch.tensor([2, 0], device=x.device)],
    "scatter_add": lambda x: x.scatter_add(0, torch.zeros(1, 4).long().to(x.device), x),
    "masked_fill": lambda x: x.masked_fill(x.isnan(), 0),
    "to_bool": lambda x: x.bool(),
    "to_half": lambda x: (x.half(), x.bfloat16()),
    "foreach": lambda x: torch._foreach_mul([x, x], 2.0),
    "unscale": lambda x: torch._amp_foreach_non_finite_check_and_unscale_(
        [x], torch.zeros(1, device=x.device), torch.ones((), device=x.device)
    ),
}

SHAPES = [(0,), (0, 4), (3, 0), (2, 0, 4), ()]
OF_ANY_SHAPE = {
    "add": lambda x: x + x,
    "add_": lambda x: x.add_(1),
    "exp": lambda x: x.exp(),
    "where": lambda x: torch.where(x > 0, x, 1.0),
    "relu": lambda x: F.relu(x),
    "gelu": lambda x: F.gelu(x),
    "sum": lambda x: (x.sum(), x.sum(-1), x.sum(-1, keepdim=True), x.nansum()),
    "prod": lambda x: x.prod(),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "norm": lambda x: x.norm(),
    "all": lambda x: (x.bool().all(), x.bool().any()),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(stable=True),
    "softmax": lambda x: x.softmax(-1),
    "clone": lambda x: (x.clone(), x.contiguous(), x.to(torch.float64), x.cpu()),
    "view": lambda x: (x.view(-1), x.unsqueeze(0), x.reshape(-1, 1)),
    "cat": lambda x: torch.cat([x.reshape(-1), x.reshape(-1)]),
    "stack": lambda x: torch.stack([x, x], -1),
    "expand": lambda x: x.expand(2, *x.shape) + 1,
    "flip": lambda x: x.flip(-1) if x.ndim else x.flip([]),
    "repeat": lambda x: x.repeat(*(2,) * (x.ndim + 1)),
    "pad": lambda x: F.pad(x, (1, 1)) if x.ndim else x,
    "masked_fill": lambda x: x.masked_fill(x == 0, 1.0),
    "masked_select": lambda x: x[x > 0],
    "nonzero": lambda x: x.nonzero(),
    "index": lambda x: x.reshape(-1)[torch.tensor([], dtype=torch.int64, device=x.device)],
    "gather": lambda x: x.gather(-1, torch.zeros_like(x, dtype=torch.int64)[..., :0] if x.ndim else
                                 torch.zeros((), dtype=torch.int64, device=x.device)),
    "scatter_add": lambda x: x.scatter_add(-1, torch.zeros_like(x, dtype=torch.int64), x),
    "fill_": lambda x: x.fill_(7),
    "copy_": lambda x: x.copy_(torch.ones(())),
    "mse": lambda x: F.mse_loss(x, x + 1, reduction="sum"),
    "equal": lambda x: torch.equal(x, x),
    "foreach": lambda x: torch._foreach_add([x, x], 1.0),
    "compare": lambda x: (x == x, x.isnan()),
    "like": lambda x: (torch.zeros_like(x), torch.full_like(x, 3), x.new_ones(x.shape)),
}  # fmt: skip
EMPTY_LAYERS = {
    "linear": lambda d: F.linear(torch.ones(0, 3, device=d), torch.ones(2, 3, device=d)),
    "mm_inner": lambda d: torch.ones(2, 0, device=d) @ torch.ones(0, 3, device=d),
    "bmm": lambda d: torch.bmm(torch.ones(0, 2, 3, device=d), torch.ones(0, 3, 4, device=d)),
    "addmm_inner": lambda d: torch.addmm(
        torch.ones(3, device=d), torch.ones(2, 0, device=d), torch.ones(0, 3, device=d)
    ),
    "conv": lambda d: F.conv2d(torch.ones(0, 1, 4, 4, device=d), torch.ones(2, 1, 3, 3, device=d)),
    "max_pool": lambda d: F.max_pool2d(torch.ones(0, 1, 4, 4, device=d), 2),
    "layer_norm": lambda d: F.layer_norm(torch.ones(0, 3, device=d), (3,)),
    "embedding": lambda d: F.embedding(
        torch.ones(0, dtype=torch.int64, device=d), torch.ones(3, 2, device=d)
    ),
    "attention": lambda d: F.scaled_dot_product_attention(*[torch.ones(0, 2, 3, 4, device=d)] * 3),
    "cross_entropy": lambda d: F.cross_entropy(
        torch.ones(0, 3, device=d), torch.ones(0, dtype=torch.int64, device=d)
    ),
    "arange": lambda d: torch.arange(0, device=d),
    "eye": lambda d: torch.eye(0, device=d),
    "rand": lambda d: torch.rand(0, 3, device=d),
    "randperm": lambda d: torch.randperm(0, device=d),
    "cdist": lambda d: torch.cdist(torch.ones(0, 3, device=d), torch.ones(2, 3, device=d)),
    "einsum": lambda d: torch.einsum(
        "ij,jk->ik", torch.ones(2, 0, device=d), torch.ones(0, 2, device=d)
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_nan_and_infinities(name):
    agree(OPERATORS[name], ODD)


@pytest.mark.parametrize("name", ["relu", "max", "sum", "softmax", "sort", "clamp", "maximum"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_nan_and_infinities_of_other_dtypes(name, dtype):
    agree(OPERATORS[name], ODD.to(dtype))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", OF_ANY_SHAPE)
def test_empty_and_0d(name, shape):
    agree(OF_ANY_SHAPE[name], torch.ones(shape))


@pytest.mark.parametrize("name", EMPTY_LAYERS)
def test_empty_batches(name):
    agree_by_device(EMPTY_LAYERS[name], strides=False)


def test_gradients_of_nothing():
    def program(device):
        layer = torch.nn.Linear(3, 2)
        layer = layer.to(device)
        layer(torch.ones(0, 3, device=device)).sum().backward()
        return layer.weight.grad, layer.bias.grad

    agree_by_device(program)
