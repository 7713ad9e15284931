"""The part of the grammar that works element by element: functions, arithmetic, choices, casts."""

from __future__ import annotations

import torch

from .guards import divides, fits_integer, gives_gradients, has_absolutes, has_exact_trigamma
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
    dtype,
    integer,
    masks,
    number,
    partner,
    tensor,
)

UNARY = (
    *each("neg square reciprocal sigmoid exp", "torch.NAME({})", tensor(NUMBER)),
    *each("abs sgn", "torch.NAME({})", tensor(NUMBER)),
    *each("sin cos tan tanh asin acos atan sinh cosh", "torch.NAME({})", tensor(NUMBER)),
    *each("sqrt rsqrt log log2 log10 log1p expm1", "torch.NAME({})", tensor(NUMBER)),
    *each("exp2 asinh acosh atanh erf erfc lgamma sinc", "torch.NAME({})", tensor(REAL)),
    *each("floor ceil trunc round sign signbit relu", "torch.NAME({})", tensor(REAL)),
    *each("frac i0 logit erfinv", "torch.NAME({})", tensor(FLOAT)),
    Op("torch.digamma({})", (tensor(FLOAT),), accumulates=True, guard=has_exact_trigamma),
    *each("isnan isfinite logical_not", "torch.NAME({})", tensor(ANY)),
    *each("isposinf isneginf", "torch.NAME({})", tensor(REAL)),
    *each("bitwise_not", "torch.NAME({})", tensor(WHOLE)),
    *each("silu gelu softplus", "F.NAME({})", tensor(FLOAT)),
    *each("elu selu", "F.NAME({})", tensor(FLOAT), guard=gives_gradients),
    *each("hardtanh hardswish mish leaky_relu", "F.NAME({})", tensor(FLOAT)),
    *each("celu", "F.NAME({})", tensor(FLOAT), guard=gives_gradients),
    *each("logsigmoid softsign tanhshrink", "F.NAME({})", tensor(FLOAT)),
    Op("torch.round({}, decimals=1)", (tensor((torch.float32, torch.float64)),)),
    Op("torch.nan_to_num({}, nan={})", (tensor(REAL), number())),
    Op("torch.clamp({}, min={})", (tensor(REAL), number())),
    Op("torch.clamp({}, {}, {})", (tensor(REAL), number(), number())),
    Op("torch.real({})", (tensor((torch.complex64,)),)),
    Op("torch.imag({})", (tensor((torch.complex64,)),)),
    Op("torch.conj({})", (tensor((torch.complex64,)),)),
    Op("torch.angle({})", (tensor(NUMBER),)),
    Op("torch.float_power({}, {})", (tensor(REAL), number())),
    Op("torch.ldexp({}, {})", (tensor(FLOAT), integer(-2, 3))),
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
    *each("left right", "torch.bitwise_NAME_shift({}, {})", tensor(INTEGER), integer(0, 3)),
    *each("gcd lcm", "torch.NAME({}, {})", tensor(INTEGER), partner(INTEGER), guard=has_absolutes),
    *each("nextafter heaviside", "torch.NAME({}, {})", tensor((torch.float64,)), partner(None)),
    *each("logical_and logical_or logical_xor", "torch.NAME({}, {})", tensor(ANY), partner(ANY)),
    Op("torch.float_power({}, {})", (tensor(FLOAT), partner(REAL))),
    *each("bitwise_and bitwise_or", "torch.NAME({}, {})", tensor(WHOLE), integer(0, 3)),
    Op("torch.complex({}, {})", (tensor((torch.float32,)), partner(None))),
    Op("torch._foreach_mul([{}, {}], {})", (tensor(NUMBER), tensor(NUMBER), number())),
    Op("torch._foreach_add([{0}, {1}], [{1}, {0}])", (tensor(NUMBER), partner(NUMBER))),
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
    Op("torch.where({}, {}, {})", (tensor((torch.bool,)), number(), number())),
    Op("torch.where({}, {}, {})", (tensor((torch.bool,)), partner(ANY), partner(ANY))),
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
