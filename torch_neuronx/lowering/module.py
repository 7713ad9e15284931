"""One StableHLO module under construction: inputs on demand, one function, a portable artifact.

It knows programs, not PyTorch ops: `graph` fills it, `eager` and `compile` decide what goes in and
out. An input becomes a parameter when it is first read, so a program has no unused parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from torch_neuronx.lowering.context import Program, building
from torch_neuronx.lowering.hlo.bindings import mlir, tensor_type
from torch_neuronx.lowering.value import LoweringError, Value

InputKey = tuple[Any, ...]  # ("base", i) | ("number", k) | ("offset", i) | ("rng",)


class Module:
    """Built inside `with Module(name).build() as module:`, which makes it the current program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[InputKey] = []
        self.program = Program(self)
        self._values: dict[InputKey, Value] = {}

    @contextmanager
    def build(self) -> Iterator[Module]:
        ir, func = mlir().ir, mlir().func
        with building(self.program):
            self._module = ir.Module.create()
            self._module.operation.attributes["sym_name"] = ir.StringAttr.get(_symbol(self.name))
            with ir.InsertionPoint(self._module.body):
                self._function = func.FuncOp("main", ir.FunctionType.get([], []))
                self._block = self._function.add_entry_block()
            with ir.InsertionPoint(self._block):
                yield self

    def input(self, key: InputKey, shape: tuple[int, ...], dtype: torch.dtype) -> Value:
        """The parameter for `key`, made when its value is first used."""
        if key not in self._values:
            self._values[key] = Value(lambda: self._parameter(key, shape, dtype), shape, dtype)
        return self._values[key]

    def deferred(
        self, make: Callable[[], Value], shape: tuple[int, ...], dtype: torch.dtype
    ) -> Value:
        """`make()`, built at the start of the program when (and if) it is first used.

        It may depend on inputs only; that is why it can be first used inside a region.
        """

        def build() -> Any:
            with mlir().ir.InsertionPoint.at_block_begin(self._block), _no_location():
                return make().ir

        return Value(build, shape, dtype)

    def rng_state(self) -> Value:
        """The (seed, offset) input: uint64[2]."""
        return self.input(("rng",), (2,), torch.uint64)

    def finish(self, results: Sequence[Value], donated: dict[InputKey, int]) -> None:
        """Returns `results`; the buffer of each `donated` key may become that result's."""
        ir = mlir().ir
        values = [r.ir for r in results]
        mlir().func.return_(values)
        types = [a.type for a in self._block.arguments]
        kind = ir.FunctionType.get(types, [v.type for v in values])
        self._function.attributes["function_type"] = ir.TypeAttr.get(kind)
        marks = [self._donation(key, donated, values) for key in self.inputs]
        self._function.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)

    def text(self) -> str:
        """The module as StableHLO text; call before `serialize`, which consumes it."""
        with building(self.program):
            return self._module.operation.get_asm(enable_debug_info=False)

    def tensor_types(self) -> list[Any]:
        """The types of all tensors in the program; call before `serialize`."""
        ir = mlir().ir
        values = list(self._block.arguments)

        def visit(operation: Any) -> Any:
            values.extend(operation.results)
            return ir.WalkResult.ADVANCE

        with building(self.program):
            self._module.operation.walk(visit)
            return [v.type for v in values if isinstance(v.type, ir.RankedTensorType)]

    def serialize(self, plugin_version: str = "") -> bytes:
        """The portable artifact, for a plugin whose newest StableHLO is `plugin_version`."""
        with building(self.program):
            self._legalize()
            return mlir().stablehlo.serialize_portable_artifact(
                self._module, artifact_version(plugin_version)
            )

    def _legalize(self) -> None:
        pipeline = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        try:
            mlir().passes.PassManager.parse(pipeline).run(self._module.operation)
        except Exception as error:
            raise LoweringError(f"{self.name} makes an invalid program: {error}") from error

    def _parameter(self, key: InputKey, shape: tuple[int, ...], dtype: torch.dtype) -> Any:
        self.inputs.append(key)
        return self._block.add_argument(tensor_type(shape, dtype), mlir().ir.Location.unknown())

    def _donation(self, key: InputKey, donated: dict[InputKey, int], values: list[Any]) -> Any:
        ir = mlir().ir
        if key not in donated:
            return ir.DictAttr.get({})
        result = donated[key]
        if values[result].type == self._values[key].ir.type:
            index = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), result)
            return ir.DictAttr.get({"tf.aliasing_output": index})
        return ir.DictAttr.get({"jax.buffer_donor": ir.BoolAttr.get(True)})


@functools.cache
def artifact_version(plugin: str) -> str:
    """The StableHLO version for a plugin whose newest is `plugin` ("" where it does not say)."""
    ours = mlir().stablehlo.get_current_version()
    return min(ours, plugin or ours, key=lambda text: [int(part) for part in text.split(".")])


def _symbol(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _no_location() -> Any:
    return mlir().ir.Location.unknown()
