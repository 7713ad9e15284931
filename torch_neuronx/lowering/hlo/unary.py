"""Unary elementwise ops. Each takes a Value and returns one of the same shape.

The dtype stays, except for `is_finite`, `is_inf`, `is_nan` (bool), `real`, `imag` and `abs` of a
complex value (its part's dtype). None widens bfloat16 or float16: see `cast.compute_dtype`.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering.hlo.apart import kept_apart
from torch_neuronx.lowering.hlo.bindings import mlir, require
from torch_neuronx.lowering.value import Value

_PART = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def _stablehlo(name: str, x: Value) -> Value:
    (x,) = kept_apart(name, x)
    return Value(getattr(mlir().stablehlo, name)(x.ir), x.shape, x.dtype)


def _chlo(name: str, x: Value) -> Value:
    return Value(getattr(mlir().chlo, name)(x.ir), x.shape, x.dtype)


def _rounding(name: str, x: Value) -> Value:
    require(not x.dtype.is_complex, f"{name} got a complex value, which it cannot round")
    return _stablehlo(name, x)


def neg(x: Value) -> Value:
    return _stablehlo("negate", x)


def exp(x: Value) -> Value:
    return _stablehlo("exponential", x)


def expm1(x: Value) -> Value:
    return _stablehlo("exponential_minus_one", x)


def log(x: Value) -> Value:
    return _stablehlo("log", x)


def log1p(x: Value) -> Value:
    return _stablehlo("log_plus_one", x)


def sqrt(x: Value) -> Value:
    return _stablehlo("sqrt", x)


def rsqrt(x: Value) -> Value:
    return _stablehlo("rsqrt", x)


def cbrt(x: Value) -> Value:
    return _stablehlo("cbrt", x)


def tanh(x: Value) -> Value:
    return _stablehlo("tanh", x)


def sine(x: Value) -> Value:
    return _stablehlo("sine", x)


def cosine(x: Value) -> Value:
    return _stablehlo("cosine", x)


def tan(x: Value) -> Value:
    return _stablehlo("tan", x)


def logistic(x: Value) -> Value:
    return _stablehlo("logistic", x)


def floor(x: Value) -> Value:
    return _rounding("floor", x)


def ceil(x: Value) -> Value:
    return _rounding("ceil", x)


def round_even(x: Value) -> Value:
    return _rounding("round_nearest_even", x)


def not_(x: Value) -> Value:
    return _stablehlo("not_", x)


def popcnt(x: Value) -> Value:
    return _stablehlo("popcnt", x)


def count_leading_zeros(x: Value) -> Value:
    return _stablehlo("count_leading_zeros", x)


def erf(x: Value) -> Value:
    return _chlo("erf", x)


def erfc(x: Value) -> Value:
    return _chlo("erfc", x)


def erf_inv(x: Value) -> Value:
    return _chlo("erf_inv", x)


def lgamma(x: Value) -> Value:
    return _chlo("lgamma", x)


def digamma(x: Value) -> Value:
    return _chlo("digamma", x)


def asin(x: Value) -> Value:
    return _chlo("asin", x)


def acos(x: Value) -> Value:
    return _chlo("acos", x)


def atan(x: Value) -> Value:
    return _chlo("atan", x)


def sinh(x: Value) -> Value:
    return _chlo("sinh", x)


def cosh(x: Value) -> Value:
    return _chlo("cosh", x)


def asinh(x: Value) -> Value:
    return _chlo("asinh", x)


def acosh(x: Value) -> Value:
    return _chlo("acosh", x)


def atanh(x: Value) -> Value:
    return _chlo("atanh", x)


def bessel_i1e(x: Value) -> Value:
    return _chlo("bessel_i1e", x)


def conj(x: Value) -> Value:
    return _chlo("conj", x)


def sign(x: Value) -> Value:
    """-1, 0 or 1; NaN stays NaN. Unsigned and bool values are not accepted by StableHLO."""
    return _stablehlo("sign", x)


def abs(x: Value) -> Value:
    """Magnitude; of a complex value a real one."""
    return Value(mlir().stablehlo.abs(x.ir), x.shape, _PART.get(x.dtype, x.dtype))


def real(x: Value) -> Value:
    """The real part of a complex value; a real value itself."""
    if x.dtype not in _PART:
        return x
    return Value(mlir().stablehlo.real(x.ir), x.shape, _PART[x.dtype])


def imag(x: Value) -> Value:
    """The imaginary part of a complex value."""
    return Value(mlir().stablehlo.imag(x.ir), x.shape, _PART[x.dtype])


def is_finite(x: Value) -> Value:
    """bool; floats only."""
    return Value(mlir().stablehlo.is_finite(x.ir), x.shape, torch.bool)


def is_inf(x: Value) -> Value:
    """bool; floats only."""
    return Value(mlir().chlo.is_inf(x.ir), x.shape, torch.bool)


def is_nan(x: Value) -> Value:
    """bool; floats and complex values."""
    return x != x
