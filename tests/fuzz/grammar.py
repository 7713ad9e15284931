"""The operators of random programs, as data: a template of PyTorch code and a slot per argument.

An operator whose result PyTorch leaves open for some values has a guard (a float too large for
the integer it is cast to, a place that is written twice), and one that leaves a result open, such
as the index of a tie, is written so that the program does not see it. Neural network layers and
products of matrices are in `layers`.
"""

from __future__ import annotations

import torch

from .layers import LAYERS, PRODUCTS
from .op import Group, Op, each
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
    dims,
    dtype,
    expanded,
    flag,
    indices,
    integer,
    masks,
    number,
    order,
    partner,
    sizes,
    start_and_stop,
    strided,
    tensor,
)


def fits_integer(t: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether C++ defines the cast of each element to any integer type."""
    if not t.dtype.is_floating_point:
        return not t.dtype.is_complex
    return bool(((t >= 0) & (t < 128)).all())


def divides(t: torch.Tensor, other: torch.Tensor | None = None) -> bool:
    """Division of integers by zero is an error, and the order of its checks is nobody's."""
    return other is None or other.dtype.is_floating_point or bool((other != 0).all())


UNARY = (
    *each("neg square reciprocal sigmoid exp", "torch.NAME({})", tensor(NUMBER)),
    *each("abs sgn", "torch.NAME({})", tensor(NUMBER)),
    *each("sin cos tan tanh asin acos atan sinh cosh", "torch.NAME({})", tensor(NUMBER)),
    *each("sqrt rsqrt log log2 log10 log1p expm1", "torch.NAME({})", tensor(NUMBER)),
    *each("exp2 asinh acosh atanh erf erfc lgamma sinc", "torch.NAME({})", tensor(REAL)),
    *each("floor ceil trunc round sign signbit relu", "torch.NAME({})", tensor(REAL)),
    *each("frac i0 logit digamma erfinv", "torch.NAME({})", tensor(FLOAT)),
    *each("isnan isfinite logical_not", "torch.NAME({})", tensor(ANY)),
    *each("isposinf isneginf", "torch.NAME({})", tensor(REAL)),
    *each("bitwise_not", "torch.NAME({})", tensor(WHOLE)),
    *each("silu gelu softplus elu selu hardtanh hardswish mish", "F.NAME({})", tensor(FLOAT)),
    *each("leaky_relu celu logsigmoid softsign tanhshrink", "F.NAME({})", tensor(FLOAT)),
    Op("torch.round({}, decimals=1)", (tensor((torch.float32, torch.float64)),)),
    Op("torch.nan_to_num({}, nan={})", (tensor(REAL), number())),
    Op("torch.clamp({}, min={})", (tensor(REAL), number())),
    Op("torch.clamp({}, {}, {})", (tensor(REAL), number(), number())),
    Op("torch.real({})", (tensor((torch.complex64,)),)),
    Op("torch.imag({})", (tensor((torch.complex64,)),)),
    Op("torch.conj({})", (tensor((torch.complex64,)),)),
    Op("torch.angle({})", (tensor(NUMBER),)),
)
BINARY = (
    *each("add sub mul", "torch.NAME({}, {})", tensor(ANY), partner(ANY)),
    *each("add mul div", "torch.NAME({}, {})", tensor(ANY), partner(ANY)),
    *each("add sub mul div true_divide", "torch.NAME({}, {})", tensor(ANY), number()),
    Op("torch.add({}, {}, alpha={})", (tensor(NUMBER), partner(NUMBER), number(whole=True))),
    Op("torch.rsub({}, {})", (tensor(NUMBER), number())),
    Op("{1} - {0}", (tensor(NUMBER), number())),
    Op("{1} / {0}", (tensor(ANY), number())),
    Op("{0} ** {1}", (tensor(REAL), integer(0, 3))),
    Op("{0} ** {1}", (tensor(FLOAT), number())),
    Op("{1} ** {0}", (tensor(FLOAT), number(positive=True))),
    Op("torch.pow({}, {})", (tensor(FLOAT), partner(REAL))),
    *each("maximum minimum", "torch.NAME({}, {})", tensor((*REAL, torch.bool)), partner(REAL)),
    *each("fmax fmin", "torch.NAME({}, {})", tensor(REAL), partner(REAL)),
    *each("atan2 hypot copysign", "torch.NAME({}, {})", tensor(FLOAT), partner(REAL)),
    *each("logaddexp xlogy", "torch.NAME({}, {})", tensor(FLOAT), partner(FLOAT)),
    *each(
        "remainder fmod floor_divide",
        "torch.NAME({}, {})",
        tensor(REAL),
        partner(REAL),
        guard=divides,
    ),
    *each(
        "remainder fmod floor_divide", "torch.NAME({}, {})", tensor(REAL), choice("2", "-3", "0.5")
    ),
    Op(
        "torch.div({}, {}, rounding_mode={})",
        (tensor(REAL), partner(REAL), choice('"floor"', '"trunc"')),
        guard=divides,
    ),
    *each(
        "bitwise_and bitwise_or bitwise_xor", "torch.NAME({}, {})", tensor(WHOLE), partner(WHOLE)
    ),
    *each("lshift rshift", "torch.bitwise_left_shift({}, {})", tensor(INTEGER), integer(0, 3)),
    *each("gcd lcm", "torch.NAME({}, {})", tensor(INTEGER), partner(INTEGER)),
    *each("nextafter heaviside", "torch.NAME({}, {})", tensor((torch.float64,)), partner(None)),
    *each("logical_and logical_or logical_xor", "torch.NAME({}, {})", tensor(ANY), partner(ANY)),
)
COMPARISONS = (
    *each("eq ne", "torch.NAME({}, {})", tensor(ANY), partner(ANY)),
    *each("lt le gt ge", "torch.NAME({}, {})", tensor(REAL), partner(REAL)),
    *each("eq lt ge", "torch.NAME({}, {})", tensor(REAL), number()),
    Op("torch.isclose({}, {})", (tensor(NUMBER), alike())),
    Op("torch.isin({}, {})", (tensor(REAL), alike())),
)
TERNARY = (
    Op("torch.where({1}, {0}, {2})", (tensor(ANY), masks(), partner(ANY))),
    Op("torch.where({1}, {0}, {2})", (tensor(ANY), masks(), number())),
    Op(
        "torch.addcmul({}, {}, {}, value={})",
        (tensor(NUMBER), alike(), partner(None), integer(-2, 2)),
    ),
    Op("torch.addcdiv({}, {}, {}, value={})", (tensor(FLOAT), alike(), partner(None), number())),
    Op("torch.lerp({}, {}, {})", (tensor(FLOAT), alike(), partner(None))),
    Op("torch.lerp({}, {}, {})", (tensor(FLOAT), alike(), number())),
    Op("torch.clamp({}, {}, {})", (tensor(REAL), partner(REAL), partner(REAL))),
    Op("torch.masked_fill({}, {}, {})", (tensor(ANY), masks(), number(whole=True))),
    Op("torch.masked_fill({}, {}, {})", (tensor(FLOAT), masks(), choice("inf", "-inf", "0.5"))),
)
REDUCTIONS = (
    *each("sum", "torch.NAME({})", tensor(ANY), accumulates=True),
    *each(
        "mean logsumexp", "torch.NAME({}, {}, {})", tensor(INEXACT), dim(), flag(), accumulates=True
    ),
    *each("sum nansum", "torch.NAME({}, {}, {})", tensor(REAL), dims(), flag(), accumulates=True),
    *each("prod", "torch.NAME({}, {}, {})", tensor(ANY), dim(), flag(), accumulates=True),
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
    Op("torch.var_mean({}, {})", (tensor(FLOAT), dim()), accumulates=True),
    Op("torch.count_nonzero({}, {})", (tensor(ANY), dim())),
    Op(
        "torch.linalg.vector_norm({}, {}, dim={})",
        (tensor(INEXACT), choice("2", "1", "inf", "0", "3.0"), dims()),
        accumulates=True,
    ),
    Op("torch.norm({})", (tensor(FLOAT),), accumulates=True),
    Op("torch.aminmax({}, dim={})", (tensor(REAL), dim())),
    Op("torch.median({}, {}).values", (tensor(REAL), dim())),
    Op("torch.quantile({}, {})", (tensor((torch.float32, torch.float64)), choice("0.5", "0.3"))),
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
    Op("torch.topk({}, 2, {}, largest={}).values", (tensor(REAL), dim(), flag())),
    Op("torch.kthvalue({}, 1, {}).values", (tensor(REAL), dim())),
    Op("torch.diff({}, dim={})", (tensor(ANY), dim())),
    Op("torch.searchsorted(torch.sort({})[0], {})", (tensor(REAL, (1, 1)), partner(None))),
    Op("torch.bucketize({}, torch.sort({})[0])", (tensor(REAL), tensor(REAL, (1, 1)))),
)
INDEXING = (
    Op("torch.gather({}, {}, {})", (tensor(ANY), dim(), indices(False, alike_to=0))),
    Op("torch.take_along_dim({0}, {2}, {1})", (tensor(ANY), dim(), indices(False, alike_to=0))),
    Op("torch.index_select({}, {}, {})", (tensor(ANY), dim(), indices(False))),
    Op("torch.scatter({0}, {1}, {3}, {2})", (tensor(ANY), dim(), alike(), indices(alike_to=1))),
    Op("torch.scatter({}, {}, {}, {})", (tensor(ANY), dim(), indices(alike_to=0), number(True))),
    Op(
        "torch.scatter_add({0}, {1}, {3}, {2})",
        (tensor(NUMBER), dim(), alike(), indices(False, alike_to=1)),
        accumulates=True,
    ),
    Op(
        "torch.scatter_reduce({0}, {1}, {3}, {2}, reduce={4}, include_self={5})",
        (
            tensor(REAL),
            dim(),
            alike(),
            indices(False, alike_to=1),
            choice('"sum"', '"prod"', '"amax"', '"amin"', '"mean"'),
            flag(),
        ),
        accumulates=True,
    ),
    Op("{0}[{2}]", (tensor(ANY, (1, 5)), choice("0"), indices(False))),
    Op("{0}[{1}]", (tensor(ANY, (1, 5)), start_and_stop())),
    Op("{0}[{1}]", (tensor(ANY, (1, 5)), start_and_stop())),
    Op("{0}[..., {2}]", (tensor(ANY, (2, 5)), choice("-1"), indices(False))),
    Op("{0}[:, {2}]", (tensor(ANY, (2, 5)), choice("1"), indices(False))),
    Op(
        "torch.index_add({}, {}, {}, {})",
        (tensor(NUMBER), dim(), indices(False, alike_to=None), alike()),
        accumulates=True,
    ),
    Op("torch.index_fill({}, {}, {}, {})", (tensor(ANY), dim(), indices(), number(True))),
    Op("torch.take({0}, {2})", (tensor(ANY, (1, 1)), choice("0"), indices(False))),
    Op("torch.masked_select({}, {})", (tensor(ANY), masks(same=True)), dynamic=True),
    Op("torch.nonzero({})", (tensor(ANY),), dynamic=True),
    Op("{}[{}]", (tensor(ANY), masks(same=True)), dynamic=True),
    Op("torch.masked_scatter({}, {}, {})", (tensor(ANY), masks(same=True), alike())),
    Op("torch.where({})[0]", (tensor(ANY),), dynamic=True),
    Op("torch.bincount({})", (tensor(INTEGER, (1, 1)),), dynamic=True, guard=fits_integer),
    Op("torch.tril({}, {})", (tensor(ANY, (2, 5)), integer(-1, 1))),
    Op("torch.triu({}, {})", (tensor(ANY, (2, 5)), integer(-1, 1))),
)
VIEWS = (
    Op("{}.permute({})", (tensor(), order())),
    Op("{}.transpose({}, {})", (tensor(), dim(), dim())),
    Op("{}.expand({})", (tensor(), expanded())),
    Op("{}.reshape({})", (tensor(), sizes())),
    Op("{}.unsqueeze({})", (tensor(ANY, (0, 3)), integer(-1, 0))),
    Op("{}.squeeze()", (tensor(),)),
    Op("{}.select({}, 0)", (tensor(ANY, (1, 5)), dim())),
    Op("{}.narrow({}, 0, 1)", (tensor(ANY, (1, 5)), dim())),
    Op("{}.as_strided({})", (tensor(), strided())),
    Op("{}.diagonal()", (tensor(ANY, (2, 5)),)),
    Op("{}.unfold({}, 2, 1)", (tensor(ANY, (1, 4)), dim())),
    Op("{}.detach()", (tensor(FLOAT),)),
    Op("{}.mT", (tensor(ANY, (2, 5)),)),
    Op("torch.flatten({})", (tensor(),)),
    Op("torch.view_as_real({}.resolve_conj())", (tensor((torch.complex64,)),)),
    Op("torch.broadcast_to({}, {})", (tensor(), expanded())),
    Op("torch.chunk({}, 2, {})", (tensor(ANY, (1, 5)), dim())),
    Op("torch.split({}, 2, {})", (tensor(ANY, (1, 5)), dim())),
    Op("torch.unbind({}, {})", (tensor(ANY, (1, 5)), dim())),
)
LAYOUT = (
    Op("torch.cat([{}, {}], {})", (tensor(), alike(ANY), dim())),
    Op("torch.cat([{}, {}], 0)", (tensor(ANY, (1, 1)), tensor(ANY, (1, 1)))),
    Op("torch.stack([{}, {}], {})", (tensor(), alike(ANY), dim())),
    Op("torch.roll({}, {}, {})", (tensor(ANY, (1, 5)), integer(-2, 2), dim())),
    Op("torch.flip({}, {})", (tensor(), dims())),
    Op("torch.rot90({})", (tensor(ANY, (2, 5)),)),
    Op("{}.repeat({})", (tensor(ANY, (0, 1)), integer(1, 2))),
    Op("torch.repeat_interleave({}, 2, {})", (tensor(), dim())),
    Op("torch.tile({}, (2,))", (tensor(),)),
    Op("F.pad({}, ({}, {}))", (tensor(ANY, (1, 5)), integer(-1, 2), integer(0, 1))),
    Op("F.pad({}, (1, 1), value={})", (tensor(ANY, (1, 5)), number(True))),
    Op(
        "F.pad({}, (1, 1), mode={})",
        (tensor(FLOAT, (2, 3)), choice('"reflect"', '"replicate"', '"circular"')),
    ),
    Op("{}.contiguous()", (tensor(),)),
    Op("{}.clone()", (tensor(),)),
    Op("torch.diag_embed({})", (tensor(ANY, (1, 2)),)),
    Op("torch.diag({})", (tensor(ANY, (1, 2)),)),
    Op("torch.meshgrid({}, {}, indexing='ij')", (tensor(ANY, (1, 1)), alike())),
    *each("zeros_like ones_like", "torch.NAME({})", tensor()),
    Op("torch.full_like({}, {})", (tensor(), number(True))),
    Op("torch.full_like({}, {}, dtype={})", (tensor(), number(True, True), dtype())),
    Op("{}.new_zeros({})", (tensor(), sizes())),
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
CASTS = (
    Op("{}.to({})", (tensor(), dtype(INEXACT))),
    Op(
        "{}.to({})",
        (tensor((*REAL, torch.bool)), dtype((*INTEGER, torch.bool))),
        guard=fits_integer,
    ),
    Op("{}.bool()", (tensor(),)),
    Op("{}.float()", (tensor(),)),
    Op("{}.type_as({})", (tensor((*REAL, torch.bool)), tensor(REAL)), guard=fits_integer),
    Op("torch.complex({}, {})", (tensor((torch.float32,)), alike())),
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
    Op("torch.cumsum({}, {}, out={})", (tensor(FLOAT), dim(), alike()), writes=2, accumulates=True),
    Op("torch.add({}, {}, out={})", (tensor(REAL), alike(), tensor(INEXACT)), writes=2),
    Op(
        "torch.sum({}, {}, out={})",
        (tensor(FLOAT), dim(), tensor(FLOAT)),
        writes=2,
        accumulates=True,
    ),
    Op("torch.cat([{0}, {0}], 0, out={1})", (tensor(ANY, (1, 5)), partner(None)), writes=1),
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
