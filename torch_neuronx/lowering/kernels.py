"""Calls of PyTorch's own CPU kernels from a program: `stablehlo.custom_call @neuron_aten`.

For ops whose algorithm is a library's (LAPACK) or has no form as a program of fixed length. The
handler, csrc/kernels, gives the operands to the op as CPU tensors over the program's buffers. Where
the plugin cannot call it (another memory than the host's, no FFI), a call is refused as having no
program. Not a home for rules.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_flatten, tree_unflatten

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.context import check
from torch_neuronx.lowering.layout import memory_order
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Meta, Value
from torch_neuronx.runtime import platforms

_TARGET = "neuron_aten"
_FAILURE = "KernelFailure"  # the launch raises what the kernel raised: csrc/dispatch/program.h
_STATUS = ((2,), torch.int64)  # (failed, ticket of the exception)
_NUMBERS = (bool, int, float)
# Of the others kernels may be missing: an error that has to be raised as well.
_EVERYWHERE = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def call(op: OpOverload, out: Any, *args: Any, may_fail: bool = True, **kwargs: Any) -> Any:
    """What the CPU kernel of `op` returns for `args`, given as its schema has them: Values for
    tensors, a uint64[2] (seed, offset) for a generator. `out` are the results' Metas. The kernel
    sees tensors that lie in memory as the arguments do; the results come in the memory order of
    their strides, so that placing them costs nothing.

    `may_fail`: its errors depend on data. The launch then waits for the program and raises them as
    the CPU does. Else an error is one of the program's, found where its results are waited for.
    """
    if not platforms.runs_kernels():
        raise NotImplementedError("the platform's programs cannot call PyTorch's CPU kernels")
    given = _bound(op, args, kwargs)
    operands = [_values(value) for value in given.values()]
    may_fail = may_fail or any(v.dtype not in _EVERYWHERE for vs in operands for v in vs)
    metas, structure = tree_flatten(out, is_leaf=_is_meta)
    orders = [_order(meta.shape, meta.strides) for meta in metas if meta is not None]
    kinds = [
        (tuple(meta.shape[d] for d in order), meta.dtype)
        for meta, order in zip(filter(_is_meta, metas), orders, strict=True)
    ]
    values = [value for group in operands for value in group]
    lying = [_order(value.shape, value.strides) for value in values]
    results = hlo.call(
        _TARGET,
        [hlo.transpose(value, order) for value, order in zip(values, lying, strict=True)],
        [_STATUS] * may_fail + kinds,
        {
            "op": op._schema.name,
            "overload": op._schema.overload_name,
            "counts": [len(group) for group in operands],
            "places": [place for order in lying for place in _inverse(order)],
            "plain": _plain_arguments(op, given),
            "orders": [d for order in orders for d in order],
            "may_fail": int(may_fail),
        },
    )
    if may_fail:
        _raise_failure(results.pop(0))
    logical = iter(map(_in_logical_order, results, orders))
    return tree_unflatten([None if m is None else next(logical) for m in metas], structure)


def runs_kernel(*ops: OpOverload, may_fail: bool = True) -> None:
    """Declares that the CPU kernel of each of `ops` is its rule."""
    for op in ops:
        lowers(op)(_rule(op, may_fail))


def prefers_kernel(op: OpOverload) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the rule of `op` where programs cannot call its CPU kernel.

    For ops whose kernel is faster, and quicker to compile, than a program. It fails only where it
    is told to check for errors, or to factor without pivots, which the CPU cannot.
    """

    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        def rule(out: Any, *args: Any, **kwargs: Any) -> Any:
            if not platforms.runs_kernels():
                return program(out, *args, **kwargs)
            may_fail = kwargs.get("check_errors", False) or not kwargs.get("pivot", True)
            return call(op, out, *args, may_fail=may_fail, **kwargs)

        lowers(op)(rule)
        return program

    return register


def _rule(op: OpOverload, may_fail: bool) -> Callable[..., Any]:
    def rule(out: Any, *args: Any, **kwargs: Any) -> Any:
        return call(op, out, *args, may_fail=may_fail, **kwargs)

    return rule


def _bound(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The value of each argument of the schema, None of one that keeps its default."""
    declared = op._schema.arguments
    given = {a.name: value for a, value in zip(declared, args, strict=False)} | kwargs
    return {a.name: given.get(a.name) for a in declared}


def _values(argument: Any) -> list[Value]:
    members = argument if isinstance(argument, (list, tuple)) else [argument]
    return [member for member in members if isinstance(member, Value)]


def _plain_arguments(op: OpOverload, given: dict[str, Any]) -> dict[str, Any]:
    return {
        declared.name: _attribute(op, declared, given[declared.name])
        for declared in op._schema.arguments
        if given[declared.name] is not None and not _values(given[declared.name])
    }


def _attribute(op: OpOverload, declared: torch.Argument, value: Any) -> Any:
    """Numbers and strings as they are, the numbers of a list as int64: a float's are its bits."""
    members = value if isinstance(value, (list, tuple)) else [value]
    if not isinstance(value, str) and not all(isinstance(m, _NUMBERS) for m in members):
        raise NotImplementedError(f"{op}: no program can pass on its argument {declared.name}")
    if not isinstance(value, (list, tuple)):
        return value
    return list(map(_bits if "List[float]" in str(declared.type) else int, members))


def _bits(number: float) -> int:
    (word,) = struct.unpack("<q", struct.pack("<d", number))
    return word


def _is_meta(value: Any) -> bool:
    return isinstance(value, Meta)


def _order(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> list[int]:
    """The dimensions from outermost to innermost in memory, where that is known and dense."""
    order = None if strides is None else memory_order(shape, strides)
    return list(range(len(shape))) if order is None else order


def _inverse(order: list[int]) -> list[int]:
    return [order.index(d) for d in range(len(order))]


def _in_logical_order(value: Value, order: list[int]) -> Value:
    return hlo.transpose(value, _inverse(order))


def _raise_failure(status: Value) -> None:
    failed, ticket = (hlo.reshape(hlo.slice_dim(status, 0, i, i + 1), ()) for i in range(2))
    check(failed != 0, _FAILURE, "", ticket)
