"""The part of the grammar that writes: in-place methods, assignments, out= forms."""

from __future__ import annotations

import torch

from .guards import apart
from .op import Op, each
from .slots import (
    ANY,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    REAL,
    WHOLE,
    alike,
    choice,
    dim,
    indices,
    integer,
    masks,
    number,
    partner,
    start_and_stop,
    tensor,
)

IN_PLACE = (
    *each("add_ mul_ sub_", "{}.NAME({})", tensor(NUMBER), partner(REAL), writes=0),
    *each("add_ mul_ div_", "{}.NAME({})", tensor(INEXACT), number(), writes=0),
    *each("add_ mul_", "{}.NAME({})", tensor(INTEGER), number(True), writes=0),
    *each("relu_ neg_ abs_ sign_", "{}.NAME()", tensor(REAL), writes=0),
    *each("exp_ sqrt_ tanh_ sigmoid_ floor_", "{}.NAME()", tensor(FLOAT), writes=0),
    *each("zero_", "{}.NAME()", tensor(), writes=0),
    Op("{}.fill_({})", (tensor(), number(True, True)), writes=0),
    Op("{}.clamp_({}, {})", (tensor(REAL), number(True), number(True)), writes=0),
    Op("{}.masked_fill_({}, {})", (tensor(), masks(), number(True, True)), writes=0),
    Op("{}.copy_({})", (tensor(INEXACT), partner(REAL)), writes=0),
    Op("{}.copy_({})", (tensor(), partner(None)), writes=0),
    Op("{}.addcmul_({}, {})", (tensor(NUMBER), alike(), partner(None)), writes=0),
    Op("{}.lerp_({}, {})", (tensor(FLOAT), alike(), number()), writes=0),
    Op("{0}[{2}] = {1}", (tensor(ANY, (1, 5)), number(True, True), start_and_stop()), writes=0),
    Op("{0}[{1}] = {2}", (tensor(), masks(same=True), number(True, True)), writes=0),
    Op("{0}[{2}] += {1}", (tensor(NUMBER, (1, 5)), number(True), start_and_stop()), writes=0),
    Op(
        "{0}[{2}] = {3}",
        (tensor(ANY, (1, 5)), choice("0"), indices(), number(True, True)),
        writes=0,
    ),
    Op(
        "{0}.index_put_(({2},), {3}, accumulate=True)",
        (tensor(NUMBER, (1, 1)), choice("0"), indices(False), partner(None)),
        writes=0,
        accumulates=True,
    ),
    Op("{0}.scatter_({1}, {3}, {2})", (tensor(), dim(), alike(), indices(alike_to=1)), writes=0),
    Op("{}.index_fill_({}, {}, {})", (tensor(), dim(), indices(), number(True, True)), writes=0),
    Op("{}.cumsum_({})", (tensor(NUMBER), dim()), writes=0, accumulates=True),
    Op("{}.t_()", (tensor(FLOAT, (2, 2)),), writes=0),
    Op("{}.unsqueeze_(0)", (tensor(FLOAT, (0, 2)),), writes=0),
    Op("{}.logical_not_()", (tensor(),), writes=0),
    Op("{}.bitwise_xor_({})", (tensor(WHOLE), partner(None)), writes=0),
    Op("{}.fill_diagonal_({})", (tensor(NUMBER, (2, 2)), number(True, True)), writes=0),
    Op("{}.tril_()", (tensor(ANY, (2, 5)),), writes=0),
    *each("div_", "{}.NAME({})", tensor(FLOAT), partner(REAL), writes=0),
    Op("{}.pow_({})", (tensor(FLOAT), integer(0, 3)), writes=0),
    Op(
        "{}.index_add_({}, {}, {}, alpha={})",
        (tensor(NUMBER), dim(), indices(False), alike(), integer(-1, 2)),
        writes=0,
        accumulates=True,
    ),
    Op(
        "{0}.index_copy_({1}, {2}, {0}.index_select({1}, {2}))",
        (tensor(), dim(), indices()),
        writes=0,
    ),
    Op(
        "{0}.masked_scatter_({1}, {2})",
        (tensor(), masks(same=True), alike()),
        writes=0,
        guard=apart,
    ),
    Op("torch._foreach_add_([{}], {})", (tensor(NUMBER), number(True)), writes=0),
    Op("{}.transpose_(0, -1)", (tensor(FLOAT, (2, 3)),), writes=0),
    Op("{}.detach_()", (tensor(FLOAT),), writes=0),
    Op("{}.requires_grad_()", (tensor(FLOAT),), writes=0),
)
OUT = (
    *each(
        "add mul sub maximum",
        "torch.NAME({}, {}, out={})",
        tensor(REAL),
        alike(),
        alike(),
        writes=2,
    ),
    *each("exp sqrt neg tanh", "torch.NAME({}, out={})", tensor(FLOAT), alike(), writes=1),
    *each(
        "eq lt", "torch.NAME({}, {}, out={})", tensor(REAL), alike(), alike((torch.bool,)), writes=2
    ),
    Op(
        "torch.where({1}, {0}, {2}, out={3})",
        (tensor(), masks(same=True), alike(), alike()),
        writes=3,
    ),
    Op(
        "torch.cumsum({}, {}, out={})",
        (tensor(FLOAT), dim(), alike()),
        writes=2,
        accumulates=True,
        guard=apart,
    ),
    Op("torch.add({}, {}, out={})", (tensor(REAL), alike(), tensor(INEXACT)), writes=2),
    Op(
        "torch.sum({}, {}, out={})",
        (tensor(FLOAT), dim(), tensor(FLOAT)),
        guard=apart,
        writes=2,
        accumulates=True,
    ),
    Op(
        "torch.cat([{0}, {0}], 0, out={1})",
        (tensor(ANY, (1, 5)), partner(None)),
        writes=1,
        guard=apart,
    ),
)
