"""The operators of random programs, as data: a template of PyTorch code and a slot per argument.

An operator whose result PyTorch leaves open for some values has a guard (a float too large for
the integer it is cast to), and one that leaves a result open, such as the index of a tie, is
written so that the program does not see it. Here are reductions, scans and factories, and how often
each group is drawn.
"""

from __future__ import annotations

import torch

from .elementwise import BINARY, CASTS, COMPARISONS, TERNARY, UNARY
from .guards import finite, has_median, multiplies, tells_equals_apart, without_nan
from .layers import LAYERS, PRODUCTS
from .op import Group, Op, each
from .rearranging import INDEXING, LAYOUT, VIEWS
from .slots import (
    ANY,
    FLOAT,
    INEXACT,
    REAL,
    choice,
    dim,
    dims,
    dtype,
    flag,
    integer,
    number,
    partner,
    tensor,
)
from .writes import IN_PLACE, OUT

REDUCTIONS = (
    *each("sum", "torch.NAME({})", tensor(ANY), accumulates=True),
    *each(
        "mean logsumexp", "torch.NAME({}, {}, {})", tensor(INEXACT), dim(), flag(), accumulates=True
    ),
    *each("sum nansum", "torch.NAME({}, {}, {})", tensor(REAL), dims(), flag(), accumulates=True),
    Op(
        "torch.prod({}, {}, {})",
        (tensor(ANY), dim(), flag()),
        accumulates=True,
        guard=multiplies,
    ),
    *each(
        "sum", "torch.NAME({}, {}, dtype={})", tensor(ANY), dim(), dtype(INEXACT), accumulates=True
    ),
    *each("amax amin", "torch.NAME({}, {}, {})", tensor(REAL), dims(), flag()),
    *each("max min", "torch.NAME({}, {}, {})", tensor((*REAL, torch.bool)), dim(), flag()),
    *each("max min", "torch.NAME({})", tensor((*REAL, torch.bool))),
    *each("argmax argmin", "torch.NAME({}, {}, {})", tensor(REAL), dim(), flag()),
    *each("any all", "torch.NAME({}, {}, {})", tensor(ANY), dim(), flag()),
    *each("any all", "torch.NAME({})", tensor(ANY)),
    *each(
        "var std",
        "torch.NAME({}, {}, correction={}, keepdim={})",
        tensor(FLOAT),
        dims(),
        integer(0, 1),
        flag(),
        accumulates=True,
    ),
    Op("torch.var_mean({}, {})", (tensor(FLOAT), dim()), accumulates=True, guard=finite),
    Op("torch.count_nonzero({}, {})", (tensor(ANY), dim())),
    Op(
        "torch.linalg.vector_norm({}, {}, dim={})",
        (tensor(INEXACT), choice("2", "1", "inf", "0", "3.0"), dims()),
        accumulates=True,
    ),
    Op("torch.norm({})", (tensor(FLOAT),), accumulates=True),
    Op("torch.aminmax({}, dim={})", (tensor(REAL), dim())),
    Op("torch.median({}, {}).values", (tensor(REAL), dim()), guard=has_median),
    Op(
        "torch.quantile({}, {})",
        (tensor((torch.float32, torch.float64)), choice("0.5", "0.3")),
        guard=tells_equals_apart,
    ),
    Op(
        "torch.mean({}, {}, dtype=torch.float32)",
        (tensor((*REAL, torch.bool)), dim()),
        accumulates=True,
    ),
    Op("torch.logsumexp({}, {})", (tensor(FLOAT), dims()), accumulates=True),
    Op("torch.unique({})", (tensor(REAL),), dynamic=True, guard=without_nan),
    Op("torch.trapezoid({}, dim={})", (tensor(FLOAT, (1, 4)), dim()), accumulates=True),
    Op(
        "torch.fft.fft({}, dim={})",
        (tensor((torch.float32, torch.complex64), (1, 3)), dim()),
        accumulates=True,
    ),
    Op("torch.fft.rfft({}, dim={})", (tensor((torch.float32,), (1, 3)), dim()), accumulates=True),
)
SCANS = (
    *each("cumsum cumprod", "torch.NAME({}, {})", tensor(ANY), dim(), accumulates=True),
    *each("logcumsumexp", "torch.NAME({}, {})", tensor(FLOAT), dim(), accumulates=True),
    *each("cummax cummin", "torch.NAME({}, {})", tensor(REAL), dim()),
    Op("torch.cumsum({}, {}, dtype={})", (tensor(ANY), dim(), dtype(FLOAT)), accumulates=True),
    *each("softmax log_softmax", "torch.NAME({}, {})", tensor(FLOAT), dim(), accumulates=True),
    Op("torch.softmax({}, {}, dtype=torch.float32)", (tensor(REAL), dim()), accumulates=True),
    Op(
        "torch.sort({}, dim={}, descending={}, stable=True)",
        (tensor((*REAL, torch.bool)), dim(), flag()),
    ),
    Op("torch.argsort({}, dim={}, stable=True)", (tensor(REAL), dim())),
    Op(
        "torch.topk({}, 2, {}, largest={}).values",
        (tensor(REAL), dim(), flag()),
        guard=tells_equals_apart,
    ),
    Op("torch.kthvalue({}, 1, {}).values", (tensor(REAL), dim()), guard=tells_equals_apart),
    Op("torch.diff({}, dim={})", (tensor(ANY), dim())),
    Op("torch.searchsorted(torch.sort({})[0], {})", (tensor(REAL, (1, 1)), partner(None))),
    Op("torch.bucketize({}, torch.sort({})[0])", (tensor(REAL), tensor(REAL, (1, 1)))),
)
FACTORIES = (
    Op("torch.arange({}, dtype={}, device=device)", (integer(0, 4), dtype(REAL))),
    Op("torch.arange({}, {}, 0.5, device=device)", (integer(-1, 0), integer(1, 2))),
    Op(
        "torch.linspace({}, {}, 4, dtype={}, device=device)",
        (integer(-2, 0), integer(1, 3), dtype(FLOAT)),
    ),
    Op("torch.eye({}, dtype={}, device=device)", (integer(1, 3), dtype())),
    Op("torch.full((2, 3), {}, device=device)", (number(),)),
    Op("torch.ones((2, 3), dtype={}, device=device)", (dtype(),)),
    Op("torch.scalar_tensor({}, dtype={}, device=device)", (integer(0, 3), dtype())),
)
GROUPS = (
    Group(14, UNARY),
    Group(16, BINARY),
    Group(4, COMPARISONS),
    Group(6, TERNARY),
    Group(9, REDUCTIONS),
    Group(6, SCANS),
    Group(10, INDEXING),
    Group(14, VIEWS),
    Group(8, LAYOUT),
    Group(2, FACTORIES),
    Group(5, CASTS),
    Group(14, IN_PLACE),
    Group(3, OUT),
    Group(5, PRODUCTS),
    Group(6, LAYERS),
)
