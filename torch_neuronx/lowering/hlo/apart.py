"""Keeps apart two operations that XLA's simplifier would join as if floats were real numbers.

`x / y / z` would be `x / (y * z)`, which overflows where the quotients do not, `(x + 1e8) - 1e8`
would be `x`, and `log(pow(x, y))` would be `y * log(|x|)`, a number where PyTorch has NaN. Between
the two stands a `reduce_precision` to the precision that the value has: it costs nothing, for no
code is made of it, and both still run in one loop. Called by the elementwise ops.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_neuronx.lowering.hlo.bindings import mlir
from torch_neuronx.lowering.hlo.cast import reduce_precision
from torch_neuronx.lowering.value import Value

_SUMS = ("add", "subtract")
# Op -> for each operand, the ops that it must not be joined with where one of them made it.
_JOINED = {
    "add": (_SUMS, _SUMS),
    "subtract": (_SUMS, _SUMS),
    "multiply": (("multiply",), ("multiply",)),
    "divide": (("divide",), ("divide", "exponential", "power", "sqrt", "rsqrt")),
    "power": (("power", "exponential"), ()),
    "log": (("power", "exponential", "sqrt", "rsqrt", "cbrt"),),
}
# What is joined only where both have a constant, which become one.
_BY_CONSTANTS = ("add", "subtract", "multiply")
# Which operand is the value, of what may stand between the two (`select` where it folds).
_SEEN_THROUGH = {"broadcast_in_dim": 0, "reshape": 0, "transpose": 0, "select": 2}
# Exponent and mantissa. Rules round 16 bits after each operation in float32, which joins nothing.
_BITS = {torch.float64: (11, 52), torch.float32: (8, 23)}


def kept_apart(name: str, *operands: Value) -> tuple[Value, ...]:
    """The operands of the StableHLO op `name`, pinned to their values where it would be joined."""
    joined = _JOINED.get(name)
    if joined is None or operands[0].dtype not in _BITS:
        return operands
    if name in _BY_CONSTANTS and not any(_is_constant(x.ir) for x in operands):
        return operands
    pairs = zip(operands, joined, strict=True)
    return tuple(
        reduce_precision(x, *_BITS[x.dtype]) if _is_joined(name, makers, x.ir) else x
        for x, makers in pairs
    )


def decided_by_sign(direction: str, x: Value, y: Value) -> Value | None:
    """The operand that a comparison with a constant is true of if only its op is never negative:
    for the simplifier `abs(x) >= 0` is true, of NaN too."""
    if direction not in ("GE", "LE") or not x.dtype.is_floating_point:
        return None
    is_constant = _is_constant(x.ir)
    if is_constant == _is_constant(y.ir):
        return None
    return y if is_constant else x


def _is_joined(name: str, makers: tuple[str, ...], ir: Any) -> bool:
    operation = _maker(ir)
    if operation is None or _name(operation) not in makers:
        return False
    return name not in _BY_CONSTANTS or any(map(_is_constant, operation.operands))


def _is_constant(ir: Any) -> bool:
    operation = _maker(ir)
    return operation is not None and _name(operation) == "constant"


def _maker(ir: Any) -> Any:
    """The operation that made a value, None of an argument."""
    while True:
        owner = ir.owner
        if isinstance(owner, mlir().ir.Block):
            return None
        place = _SEEN_THROUGH.get(_name(owner))
        if place is None:
            return owner
        ir = owner.operands[place]


def _name(operation: Any) -> str:
    return str(operation.name).removeprefix("stablehlo.")
