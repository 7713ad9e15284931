"""Regions and control flow. Run-time checks and random bits must stay outside regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch_neuronx.lowering.hlo.bindings import mlir, tensor_type
from torch_neuronx.lowering.value import LoweringError, Value

Kind = tuple[tuple[int, ...], torch.dtype]
Body = Callable[..., Value | Sequence[Value]]


def fill_region(region: Any, arguments: Sequence[Kind], body: Body) -> list[Value]:
    """Gives `region` one block that calls `body` on its arguments and returns what it returns."""
    ir = mlir().ir
    kinds = [tensor_type(tuple(shape), dtype) for shape, dtype in arguments]
    block = ir.Block.create_at_start(region, kinds, [ir.Location.unknown()] * len(kinds))
    with ir.InsertionPoint(block):
        values = [
            Value(argument, shape, dtype)
            for argument, (shape, dtype) in zip(block.arguments, arguments, strict=True)
        ]
        results = body(*values)
        results = [results] if isinstance(results, Value) else list(results)
        mlir().stablehlo.return_([r.ir for r in results])
    return results


def while_(
    inits: Sequence[Value], cond: Callable[..., Value], body: Callable[..., Sequence[Value]]
) -> list[Value]:
    """Repeats values = body(*values) while cond(*values), a 0-d bool; shapes and dtypes stay."""
    kinds: list[Kind] = [(v.shape, v.dtype) for v in inits]
    op = mlir().stablehlo.WhileOp([tensor_type(*k) for k in kinds], [v.ir for v in inits])
    fill_region(op.regions[0], kinds, cond)
    results = fill_region(op.regions[1], kinds, body)
    _same("while_", kinds, results)
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


def if_(
    pred: Value,
    on_true: Callable[[], Value | Sequence[Value]],
    on_false: Callable[[], Value | Sequence[Value]],
    kinds: Sequence[Kind],
) -> list[Value]:
    """Runs one branch of two; `kinds` are the (shape, dtype) of the results of both."""
    op = mlir().stablehlo.IfOp([tensor_type(tuple(s), d) for s, d in kinds], pred.ir)
    for region, branch in zip(op.regions, (on_true, on_false), strict=True):
        _same("if_", kinds, fill_region(region, [], branch))
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


def case(
    index: Value,
    branches: Sequence[Callable[[], Value | Sequence[Value]]],
    kinds: Sequence[Kind],
) -> list[Value]:
    """Runs branches[index] (int32, 0-d), the last one when the index is out of range."""
    op = mlir().stablehlo.CaseOp(
        [tensor_type(tuple(s), d) for s, d in kinds], index.ir, len(branches)
    )
    for region, branch in zip(op.regions, branches, strict=True):
        _same("case", kinds, fill_region(region, [], branch))
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


def call(target: str, operands: Sequence[Value], kinds: Sequence[Kind], config: str) -> list[Value]:
    """An FFI custom call (API version 4) without side effects; `config` is an MLIR dictionary."""
    ir = mlir().ir
    op = mlir().stablehlo.CustomCallOp(
        [tensor_type(tuple(s), d) for s, d in kinds],
        [x.ir for x in operands],
        target,
        has_side_effect=ir.BoolAttr.get(False),
        backend_config=ir.Attribute.parse(config),
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
    )
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


def _same(name: str, kinds: Sequence[Kind], results: Sequence[Value]) -> None:
    got = [(r.shape, r.dtype) for r in results]
    if got != [(tuple(s), d) for s, d in kinds]:
        raise LoweringError(f"a branch of {name} returns {list(results)}, expected {list(kinds)}")
