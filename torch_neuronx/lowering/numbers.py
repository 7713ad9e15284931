"""Numbers of a graph that are known only when its program runs: the counter of a loop, an item().

They are 0-d Values with `is_number`: bool, int64 or float64. PyTorch writes the arithmetic on them
with Python's operators. Called by `graph` and by rules that make such numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.value import Value

_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}
_SYMBOLIC = {torch.SymBool: torch.bool, torch.SymInt: torch.int64, torch.SymFloat: torch.float64}


def number(x: Any) -> Value:
    """A Python number as one of the program's; a Value stays."""
    if isinstance(x, Value):
        return x
    return marked(hlo.number(x, _DTYPES[type(x)]))


def marked(x: Value) -> Value:
    """A 0-d Value as a number, which promotes as Python's do."""
    return Value(x.ir, (), x.dtype, is_number=True)


def like(kind: Any, x: Any) -> Value:
    """`x` as a number of the dtype of `kind` if that is one; else it stays."""
    if isinstance(kind, Value) and not kind.is_number:
        return x
    return marked(hlo.convert(number(x), number(kind).dtype))


def item(x: Value) -> Value:
    """The number that a tensor of one element holds."""
    dtype = torch.bool if x.dtype == torch.bool else torch.int64
    dtype = torch.float64 if x.dtype.is_floating_point else dtype
    return marked(hlo.convert(hlo.reshape(x, ()), dtype))


def compute(function: Any, kind: Any, args: tuple[Any, ...]) -> Value:
    """What a function of Python's operators or torch.sym_* gives for `args`, a number of `kind`."""
    if function not in FUNCTIONS:
        raise NotImplementedError(f"{function} of a number that depends on the data")
    known = [number(x) for x in args]
    dtypes = {x.dtype for x in known} | {_SYMBOLIC[kind]}
    dtype = max(dtypes, key=(torch.bool, torch.int64, torch.float64).index)
    got = FUNCTIONS[function](*(hlo.convert(x, dtype) for x in known))
    return marked(hlo.convert(got, _SYMBOLIC[kind]))


def _same(x: Value) -> Value:
    return x


def _floor_divide(x: Value, y: Value) -> Value:
    from torch_neuronx.lowering.arithmetic import divide_floor

    return divide_floor(x, y)


def _modulo(x: Value, y: Value) -> Value:
    from torch_neuronx.lowering.arithmetic import remainder

    return remainder(x, y)


# As PyTorch defines symbolic numbers, in the widest of the kinds that meet: of int and bool, int.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Value]] = {
    operator.add: hlo.add,
    operator.sub: hlo.sub,
    operator.mul: hlo.mul,
    operator.truediv: hlo.div,
    operator.floordiv: _floor_divide,
    operator.mod: _modulo,
    operator.neg: hlo.neg,
    operator.pos: _same,
    operator.abs: hlo.abs,
    operator.lt: lambda x, y: x < y,
    operator.le: lambda x, y: x <= y,
    operator.gt: lambda x, y: x > y,
    operator.ge: lambda x, y: x >= y,
    operator.eq: lambda x, y: x == y,
    operator.ne: lambda x, y: x != y,
    operator.and_: hlo.and_,
    operator.or_: hlo.or_,
    torch.sym_max: hlo.max,
    torch.sym_min: hlo.min,
    torch.sym_not: hlo.not_,
    torch.sym_float: _same,
}
