"""Regions and control flow. Run-time checks and random bits must stay outside the regions made
here; `lowering.regions` makes those that may have them, of `Block`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from torch_neuronx.lowering.hlo.bindings import int_array, mlir, tensor_type
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


class Block:
    """The code of a region, made before the op that it will belong to.

    So the op's results, and what the block is given, may be settled when the code is known. Until
    `close` it is kept in a function at this place of the program, where nothing can be left over.
    """

    def __init__(self) -> None:
        ir, func = mlir().ir, mlir().func
        self._keeper = func.FuncOp("unfinished", ir.FunctionType.get([], []))
        self._block = self._keeper.add_entry_block()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Ops made inside are the block's."""
        with mlir().ir.InsertionPoint(self._block):
            yield

    def argument(self, kind: Kind) -> Value:
        """One more value, of this (shape, dtype), that the block is given."""
        shape, dtype = kind
        location = mlir().ir.Location.unknown()
        return Value(self._block.add_argument(tensor_type(shape, dtype), location), shape, dtype)

    def close(self, region: Any, results: Sequence[Value]) -> None:
        """Moves the block into `region`, where it returns `results`."""
        with self.open():
            mlir().stablehlo.return_([r.ir for r in results])
        self._block.append_to(region)
        self._keeper.erase()


def if_blocks(
    pred: Value, blocks: Sequence[Block], results: Sequence[Sequence[Value]]
) -> list[Value]:
    """`if_` of two blocks (true, false) and what they return."""
    kinds: list[Kind] = [(r.shape, r.dtype) for r in results[0]]
    op = mlir().stablehlo.IfOp([tensor_type(*k) for k in kinds], pred.ir)
    for region, block, returned in zip(op.regions, blocks, results, strict=True):
        _same("if_blocks", kinds, returned)
        block.close(region, returned)
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


def while_block(
    inits: Sequence[Value], cond: Callable[..., Value], body: Block, results: Sequence[Value]
) -> list[Value]:
    """`while_` of a block, whose arguments are as many as `inits`, and what it returns."""
    kinds: list[Kind] = [(v.shape, v.dtype) for v in inits]
    _same("while_block", kinds, results)
    op = mlir().stablehlo.WhileOp([tensor_type(*k) for k in kinds], [v.ir for v in inits])
    fill_region(op.regions[0], kinds, cond)
    body.close(op.regions[1], results)
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


Attribute = str | int | float | Sequence[int] | Mapping[str, Any]


def call(
    target: str,
    operands: Sequence[Value],
    kinds: Sequence[Kind],
    attributes: Mapping[str, Attribute],
) -> list[Value]:
    """An FFI custom call (API version 4) without side effects, to a function that the runtime has
    registered as `target`. Integers are passed as int64, other numbers as float64; a portable
    artifact has no lists of these."""
    ir = mlir().ir
    op = mlir().stablehlo.CustomCallOp(
        [tensor_type(tuple(s), d) for s, d in kinds],
        [x.ir for x in operands],
        target,
        has_side_effect=ir.BoolAttr.get(False),
        backend_config=_attribute(attributes),
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
    )
    return [Value(r, *k) for r, k in zip(op.results, kinds, strict=True)]


def _attribute(value: Attribute) -> Any:
    ir = mlir().ir
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, Mapping):
        return ir.DictAttr.get({name: _attribute(held) for name, held in value.items()})
    return int_array(value)


def _same(name: str, kinds: Sequence[Kind], results: Sequence[Value]) -> None:
    got = [(r.shape, r.dtype) for r in results]
    if got != [(tuple(s), d) for s, d in kinds]:
        raise LoweringError(f"a branch of {name} returns {list(results)}, expected {list(kinds)}")
