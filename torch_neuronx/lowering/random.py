"""Random tensors: uniform and normal numbers, integers, permutations, coin flips.

Bits come from `rng`, a counter-based generator on the program's (seed, offset); parameters are run-
time numbers. Continuous distributions made from these are in distributions.py, dropout in
dropout.py.
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo, rng
from torch_neuronx.lowering.addressing import any_true
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.ordering import ascending
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten, prims = torch.ops.aten, torch.ops.prims

# Significant bits of a uniform number: as many as the dtype holds, so that rounding never gives 1.
_DIGITS = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24, torch.float64: 53}


def digits(dtype: torch.dtype) -> int:
    return _DIGITS[dtype]


def unit(shape, dtype: torch.dtype) -> Value:
    """Uniform in [0, 1) at the resolution of `dtype`, in its compute dtype."""
    wide = compute_dtype(dtype)
    width = 64 if wide == torch.float64 else 32
    bits = hlo.shr_logical(rng.random_bits(shape, width), width - digits(dtype))
    return hlo.convert(bits, wide) * 2.0 ** -digits(dtype)


def open_unit(shape, dtype: torch.dtype) -> Value:
    """Uniform in (0, 1], fine near zero, in the compute dtype: what logarithms are taken of."""
    wide = compute_dtype(dtype)
    if wide == torch.float64:
        bits = hlo.shr_logical(rng.random_bits(shape, 64), 11)
        return (hlo.convert(bits, wide) + 1.0) * 2.0**-53
    return (hlo.convert(rng.random_bits(shape, 32), wide) + 0.5) * 2.0**-32


def gaussian(shape, dtype: torch.dtype) -> Value:
    """Standard normal by Box and Muller (1958), in the compute dtype; two numbers from each pair.

    The sine is the cosine a quarter turn back, which makes both numbers one elementwise program.
    """
    total = math.prod(shape)
    half = (total + 1) // 2
    radius = hlo.sqrt(hlo.log(open_unit((half,), dtype)) * -2.0)
    part = hlo.broadcast_to(unit((half,), compute_dtype(dtype)), (2, half))
    part = part - hlo.iota((2, half), 0, part.dtype) * 0.25
    both = hlo.reshape(radius * cosine_of_turn(part), (2 * half,))
    return hlo.reshape(hlo.slice_dim(both, 0, 0, total), tuple(shape))


def cosine_of_turn(part: Value) -> Value:
    """cos(2 pi `part`), for a few turns at most.

    XLA:CPU's own is for any angle and 50 times as slow. Reduced to an eighth of a turn to each side
    of the nearest quarter, where the Taylor series to x**10 (float64: x**18) is exact to rounding.
    """
    quarter = hlo.floor(part * 4.0 + 0.5)
    angle = (part - quarter * 0.25) * (2 * math.pi)
    square = angle * angle
    terms = range(10 if part.dtype == torch.float64 else 6)
    cosine = _series(square, [(-1) ** n / math.factorial(2 * n) for n in terms])
    sine = angle * _series(square, [(-1) ** n / math.factorial(2 * n + 1) for n in terms])
    turned = hlo.and_(hlo.convert(quarter, torch.int32), 3)
    size = hlo.select(hlo.and_(turned, 1) == 1, sine, cosine)
    return hlo.select((turned == 1) | (turned == 2), -size, size)


def _series(x: Value, coefficients: list[float]) -> Value:
    total = hlo.full(x.shape, coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def real_part(dtype: torch.dtype) -> torch.dtype:
    return dtype.to_real() if dtype.is_complex else dtype


def paired(out, draw, scale: float = 1.0) -> Value:
    """`draw(shape, dtype)` for a real `out`; for a complex one, of both parts, each times
    `scale`.
    """
    dtype = real_part(out.dtype)
    if not out.dtype.is_complex:
        return hlo.convert(draw(out.shape, dtype), out.dtype)
    return hlo.complex(draw(out.shape, dtype) * scale, draw(out.shape, dtype) * scale)


@lowers(aten.rand.default, aten.rand.generator, aten.rand_like.default, aten.rand_like.generator)
def _rand(out, *_, **__):
    return paired(out, unit)


@lowers(
    aten.randn.default, aten.randn.generator, aten.randn_like.default, aten.randn_like.generator
)
def _randn(out, *_, **__):
    return paired(out, gaussian, math.sqrt(0.5))


@lowers(aten.uniform.default, runtime=("from", "to"))
def _uniform(out, x, low=0.0, high=1.0):
    return paired(out, lambda shape, dtype: between(shape, dtype, low, high))


# As PyTorch's messages name the dtypes.
CPP_NAMES = {
    torch.bfloat16: "c10::BFloat16",
    torch.float16: "c10::Half",
    torch.float32: "float",
    torch.float64: "double",
}


def between(shape, dtype: torch.dtype, low, high) -> Value:
    """Uniform in [low, high); a number that rounds up to `high` becomes `low`."""
    wide = compute_dtype(dtype)
    low, high = hlo.number(low, wide), hlo.number(high, wide)
    largest, name = torch.finfo(dtype).max, CPP_NAMES[dtype]
    for end, bound in (("from", low), ("to", high)):
        outside = ~((bound >= -largest) & (bound <= largest))
        check(outside, "RuntimeError", f"{end} is out of bounds for {name}")
    message = "uniform_ expects to return a [from, to) range, but found from > to"
    check(low > high, "RuntimeError", message)
    message = f"uniform_ expects to - from <= std::numeric_limits<{name}>::max()"
    check(high - low > largest, "RuntimeError", message)
    drawn = hlo.convert(hlo.convert(unit(shape, dtype) * (high - low) + low, dtype), wide)
    return hlo.select(drawn >= high, low, drawn)


# PyTorch's own ATen forms of these two write in place, where a graph may not any more.
@lowers(prims.uniform.default, runtime=("low", "high"))
def _uniform_prim(out, shape, *, low, high, **_):
    return _uniform(out, None, low, high)


@lowers(prims.normal.default, runtime=("mean", "std"))
def _normal_prim(out, shape, *, mean, std, **_):
    return normal(out, mean, std)


@lowers(aten.normal_functional.default, runtime=("mean", "std"))
def _normal(out, x, mean=0.0, std=1.0):
    return normal(out, mean, std)


@lowers(aten.normal.float_float, runtime=("mean", "std"))
def _normal_sized(out, mean, std, size, *, dtype=None):
    return normal(out, mean, std)


@lowers(aten.normal.Tensor_float, runtime=("std",))
def _normal_tensor_float(out, mean, std=1.0):
    return normal(out, mean, std)


@lowers(aten.normal.float_Tensor, runtime=("mean",))
def _normal_float_tensor(out, mean, std):
    return normal(out, mean, std, "normal expects all elements of std >= 0.0")


@lowers(aten.normal.Tensor_Tensor)
def _normal_tensors(out, mean, std):
    return normal(out, mean, std, "normal expects all elements of std >= 0.0")


def normal(out, mean, std, message: str = "normal expects std >= 0.0, but found std {}") -> Value:
    wide = compute_dtype(out.dtype)
    spread = hlo.convert(std, compute_dtype(real_part(out.dtype)))
    if spread.numel:
        shown = hlo.convert(spread, torch.int64) if not spread.ndim else None
        check(any_true(spread < 0.0), "RuntimeError", message, shown)
    drawn = hlo.convert(paired(_widened(out, wide), gaussian, math.sqrt(0.5)), wide)
    drawn = drawn * hlo.full(out.shape, spread, wide) + hlo.full(out.shape, mean, wide)
    return hlo.convert(drawn, out.dtype)


def _widened(out, wide: torch.dtype):
    return out._replace(dtype=wide)


@lowers(aten.randperm.default, aten.randperm.generator)
def _randperm(out, n, *, dtype=None):
    """The order of random 64-bit keys; the low bits of a key are its place, which also breaks
    ties.
    """
    (size,) = out.shape
    place_bits = max(size - 1, 1).bit_length()
    keys = hlo.bitcast(rng.random_bits((size,), 64), torch.int64)
    keys = hlo.or_(hlo.shl(keys, place_bits), hlo.iota((size,), 0, torch.int64))
    return hlo.convert(hlo.and_(ascending(keys), 2**place_bits - 1), out.dtype)


def integers(out, low: Value, span: Value) -> Value:
    """Uniform integers in [low, low + span), `span` an uint64 where 0 stands for 2**64; low an
    int64.

    The product of 64 random bits and the span, shifted right by 64: no division, bias below span /
    2**64.
    """
    bits = rng.random_bits(out.shape, 64)
    span = hlo.broadcast_to(span, out.shape)
    drawn = hlo.select(span == 0, bits, multiply_high(bits, span))
    drawn = hlo.bitcast(drawn, torch.int64) + hlo.broadcast_to(low, out.shape)
    return hlo.convert(drawn, out.dtype)


def multiply_high(a: Value, b: Value) -> Value:
    """The upper 64 bits of the 128-bit product of two uint64 values."""
    low = 2**32 - 1
    a_low, a_high = hlo.and_(a, low), hlo.shr_logical(a, 32)
    b_low, b_high = hlo.and_(b, low), hlo.shr_logical(b, 32)
    middle = a_high * b_low + hlo.shr_logical(a_low * b_low, 32)
    carry = a_low * b_high + hlo.and_(middle, low)
    return a_high * b_high + hlo.shr_logical(middle, 32) + hlo.shr_logical(carry, 32)


def in_range(out, low, high) -> Value:
    """Integers in [low, high), run-time bounds."""
    low, high = hlo.number(low, torch.int64), hlo.number(high, torch.int64)
    message = "random_ expects 'from' to be less than 'to', but got from >= to={}"
    check(low >= high, "RuntimeError", message, high)
    return integers(out, low, hlo.bitcast(high - low, torch.uint64))


@lowers(aten.randint.default, aten.randint.generator, runtime=("high",))
def _randint(out, high, size, *, dtype=None):
    return in_range(out, 0, high)


@lowers(aten.randint.low, aten.randint.low_generator, runtime=("low", "high"))
def _randint_low(out, low, high, size, *, dtype=None):
    return in_range(out, low, high)


@lowers(aten.randint_like.default, aten.randint_like.generator, runtime=("high",))
def _randint_like(out, x, high, *, dtype=None):
    return in_range(out, 0, high)


@lowers(aten.randint_like.Tensor, aten.randint_like.Tensor_generator)
def _randint_like_tensor(out, x, high, *, dtype=None):
    return in_range(out, 0, hlo.reshape(high, ()))


@lowers(aten.randint_like.low_dtype, aten.randint_like.low_generator_dtype, runtime=("low", "high"))
def _randint_like_low(out, x, low, high, *, dtype=None):
    return in_range(out, low, high)


def last_integer(dtype: torch.dtype) -> int:
    """The greatest integer that random_ without an upper bound gives."""
    if dtype == torch.bool:
        return 1
    return 2 ** digits(dtype) if dtype.is_floating_point else min(torch.iinfo(dtype).max, 2**63 - 1)


@lowers(aten.random.default)
def _random(out, x):
    span = hlo.full((), last_integer(out.dtype) + 1, torch.int64)
    return integers(out, hlo.full((), 0, torch.int64), hlo.bitcast(span, torch.uint64))


@lowers(aten.random.to, runtime=("to",))
def _random_to(out, x, to):
    return in_range(out, 0, to)


@lowers(getattr(aten.random, "from"), runtime=("from", "to"))
def _random_from(out, x, low, high):
    if high is not None:
        return in_range(out, low, high)
    low = hlo.number(low, torch.int64)
    span = hlo.full((), last_integer(out.dtype), torch.int64) - low + 1
    return integers(out, low, hlo.bitcast(span, torch.uint64))


OUTSIDE_UNIT = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."


def coin(shape, p: Value) -> Value:
    """bool, true with probability `p`, which broadcasts to `shape`."""
    return unit(shape, torch.float64 if p.dtype == torch.float64 and p.ndim else torch.float32) < p


def probability(p, message: str) -> Value:
    """`p` at a width to compare with a uniform number, checked to be one."""
    p = hlo.convert(p, torch.float64 if isinstance(p, Value) and _is_wide(p) else torch.float32)
    if p.numel:
        check(any_true(~((p >= 0.0) & (p <= 1.0))), "RuntimeError", message)
    return p


def _is_wide(p: Value) -> bool:
    return p.dtype == torch.float64 and not p.is_number


@lowers(aten.bernoulli.default)
def _bernoulli(out, p):
    return hlo.convert(coin(out.shape, probability(p, OUTSIDE_UNIT)), out.dtype)


@lowers(aten.bernoulli.p, runtime=("p",))
def _bernoulli_p(out, x, p):
    p = probability(p, "bernoulli_ expects p to be in [0, 1]")
    return hlo.convert(coin(out.shape, hlo.broadcast_to(p, out.shape)), out.dtype)


@lowers(aten.bernoulli.Tensor)
def _bernoulli_tensor(out, x, p):
    p = hlo.broadcast_to(probability(p, OUTSIDE_UNIT), out.shape)
    return hlo.convert(coin(out.shape, p), out.dtype)
