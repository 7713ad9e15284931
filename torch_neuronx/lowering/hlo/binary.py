"""Binary and ternary elementwise ops.

Operands have one dtype and shapes that broadcast under PyTorch's rules; a Python number takes the
other operand's dtype. `compare` returns bool.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering.hlo.apart import decided_by_sign, kept_apart
from torch_neuronx.lowering.hlo.bindings import check_supported, mlir, require
from torch_neuronx.lowering.hlo.create import Number, full
from torch_neuronx.lowering.hlo.shape import broadcast_to
from torch_neuronx.lowering.value import LoweringError, Value

Operand = Value | Number


def _pair(name: str, x: Operand, y: Operand) -> tuple[Value, Value]:
    """Both operands as Values of one dtype and one shape."""
    if not isinstance(x, Value):
        if not isinstance(y, Value):
            raise LoweringError(f"{name} needs at least one Value, got {x!r} and {y!r}")
        x = _like(name, x, y)
    if not isinstance(y, Value):
        y = _like(name, y, x)
    if x.dtype != y.dtype:
        raise LoweringError(f"{name} got {x.dtype} and {y.dtype}: convert one of them first")
    if x.shape == y.shape:
        return x, y
    shape = torch.broadcast_shapes(x.shape, y.shape)
    return broadcast_to(x, tuple(shape)), broadcast_to(y, tuple(shape))


def _like(name: str, value: Number, other: Value) -> Value:
    integral = not (other.dtype.is_floating_point or other.dtype.is_complex)
    if integral and not isinstance(value, int):
        raise LoweringError(f"{name} got {value!r} with {other}: convert the tensor first")
    return full(other.shape, value, other.dtype)


def _stablehlo(name: str, x: Operand, y: Operand) -> Value:
    """Of no elements, an operand: XLA simplifies integer division by the divisor's first element,
    and the process ends (SIGFPE) where there is none.
    """
    x, y = _pair(name, x, y)
    if not x.numel:
        return x
    x, y = kept_apart(name, x, y)
    return Value(getattr(mlir().stablehlo, name)(x.ir, y.ir), x.shape, x.dtype)


def _chlo(name: str, x: Operand, y: Operand) -> Value:
    x, y = _pair(name, x, y)
    return Value(getattr(mlir().chlo, name)(x.ir, y.ir), x.shape, x.dtype)


def _ordered(name: str, x: Operand, y: Operand) -> tuple[Value, Value]:
    """Operands that one can be less than the other: XLA would order complex ones by their parts."""
    x, y = _pair(name, x, y)
    require(not x.dtype.is_complex, f"{name} got complex values, which have no order")
    return x, y


def add(x: Operand, y: Operand) -> Value:
    """Of bools: or."""
    return _stablehlo("add", x, y)


def sub(x: Operand, y: Operand) -> Value:
    return _stablehlo("subtract", x, y)


def mul(x: Operand, y: Operand) -> Value:
    """Of bools: and."""
    return _stablehlo("multiply", x, y)


def pow(x: Operand, y: Operand) -> Value:
    return _stablehlo("power", x, y)


def atan2(x: Operand, y: Operand) -> Value:
    return _stablehlo("atan2", x, y)


def and_(x: Operand, y: Operand) -> Value:
    return _stablehlo("and_", x, y)


def or_(x: Operand, y: Operand) -> Value:
    return _stablehlo("or_", x, y)


def xor(x: Operand, y: Operand) -> Value:
    return _stablehlo("xor", x, y)


def shl(x: Operand, y: Operand) -> Value:
    return _stablehlo("shift_left", x, y)


def shr_arith(x: Operand, y: Operand) -> Value:
    return _stablehlo("shift_right_arithmetic", x, y)


def shr_logical(x: Operand, y: Operand) -> Value:
    return _stablehlo("shift_right_logical", x, y)


def div(x: Operand, y: Operand) -> Value:
    """Integers truncate towards zero; guard a zero divisor yourself."""
    return _stablehlo("divide", x, y)


def rem(x: Operand, y: Operand) -> Value:
    """The sign is the dividend's (C's fmod and %)."""
    return _stablehlo("remainder", x, y)


def max(x: Operand, y: Operand) -> Value:
    """NaN if either is NaN."""
    return _stablehlo("maximum", *_ordered("max", x, y))


def min(x: Operand, y: Operand) -> Value:
    """NaN if either is NaN."""
    return _stablehlo("minimum", *_ordered("min", x, y))


def next_after(x: Operand, y: Operand) -> Value:
    return _chlo("next_after", x, y)


def polygamma(x: Operand, y: Operand) -> Value:
    return _chlo("polygamma", x, y)


def zeta(x: Operand, y: Operand) -> Value:
    return _chlo("zeta", x, y)


def complex(re: Operand, im: Operand) -> Value:
    """A complex value of two float32 or float64 parts."""
    re, im = _pair("complex", re, im)
    dtype = re.dtype.to_complex()
    check_supported(dtype)
    return Value(mlir().stablehlo.complex(re.ir, im.ir), re.shape, dtype)


def compare(x: Operand, y: Operand, direction: str, total_order: bool = False) -> Value:
    """`direction` is EQ, NE, LT, LE, GT or GE. `total_order`: -NaN < -inf < -0 < 0 < inf < NaN."""
    x, y = (_pair if direction in ("EQ", "NE") else _ordered)("compare", x, y)
    how = mlir().stablehlo.ComparisonDirectionAttr.get(direction)
    kind = mlir().stablehlo.ComparisonTypeAttr.get("TOTALORDER") if total_order else None
    result = mlir().stablehlo.compare(x.ir, y.ir, how, compare_type=kind)
    outcome = Value(result, x.shape, torch.bool)
    judged = None if total_order else decided_by_sign(direction, x, y)
    return outcome if judged is None else outcome & compare(judged, judged, "EQ")


def select(pred: Value, on_true: Operand, on_false: Operand) -> Value:
    """Elementwise choice; all three broadcast."""
    on_true, on_false = _pair("select", on_true, on_false)
    shape = tuple(torch.broadcast_shapes(pred.shape, on_true.shape))
    on_true, on_false = broadcast_to(on_true, shape), broadcast_to(on_false, shape)
    pred = pred if pred.ndim == 0 else broadcast_to(pred, shape)
    result = mlir().stablehlo.select(pred.ir, on_true.ir, on_false.ir)
    return Value(result, shape, on_true.dtype)


def clamp(low: Operand, x: Value, high: Operand) -> Value:
    """min(max(x, low), high), NaN wherever x or a bound is NaN; the bounds broadcast."""
    return min(max(x, low), high)
