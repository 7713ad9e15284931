"""A captured graph's program for one key: inputs read, nodes lowered, results placed.

The counterpart of `eager.plan`. What a graph returns is told apart by the storages of its fake
tensors: a result may be an input as it is, a view of one, or a view of another result, and then
costs nothing; everything else is a new tensor with the strides that PyTorch says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from torch_neuronx.compile import origin
from torch_neuronx.compile.captured import Captured
from torch_neuronx.eager.bases import Bases
from torch_neuronx.eager.call import Call, TensorSpec
from torch_neuronx.eager.placement import Placement
from torch_neuronx.eager.plan import Plan, lowering_lock
from torch_neuronx.eager.program import Launch
from torch_neuronx.lowering import graph, hlo, numbers
from torch_neuronx.lowering.layout import memory_order
from torch_neuronx.lowering.module import Module
from torch_neuronx.lowering.storages import Storage, StorageKey, storage_of
from torch_neuronx.lowering.value import LoweringError, Value


def plan(captured: Captured, call: Call, version: str = "") -> Plan:
    """The program of `captured` for the inputs of `call`, for a plugin of StableHLO `version`.

    Raises NotImplementedError or LoweringError, naming the op and the user's line, where a node has
    no program.
    """
    with lowering_lock:
        module = Module("graph")  # names are no part of a program
        module.program.is_backward = captured.kind == "backward"
        with module.build():
            launch, outputs, donated = _Lowering(captured, call, module).lower()
            module.finish(outputs, donated)
        launch.inputs = module.inputs
        launch.rng_increment = module.program.rng_used
        return Plan(launch, module.serialize(version), captured.module.graph)


@dataclass
class _Source:
    """A tensor that a storage's other views can be seen through: how its return is spelled."""

    returned: tuple[Any, ...]  # ("arg", tensor index) or ("result", k)
    meta: graph.Meta
    offset: int
    is_update: bool = False  # the new buffer of an input: returned through a view


class _Interpreter(graph.Interpreter):
    """Adds the op and the user's line to what a rule raises, and knows the storages of inputs."""

    def __init__(
        self,
        symbols: graph.Symbols | None = None,
        storage: Callable[[fx.Node], Storage | None] = lambda node: None,
    ) -> None:
        super().__init__(symbols)
        self._storage = storage

    def storage(self, node: fx.Node) -> Storage | None:
        return self._storage(node)

    def call(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        try:
            return super().call(node, args, kwargs)
        except (LoweringError, NotImplementedError) as error:
            where = origin.line_of(node)
            line = f"\n  {where}" if where else ""
            raise type(error)(f"{node.target}: {error}{line}") from error


class _Lowering:
    def __init__(self, captured: Captured, call: Call, module: Module) -> None:
        self.captured = captured
        self.call = call
        self.module = module
        tensors, sizes = iter(call.args[1]), iter(call.args[2])
        self.given = {n: next(tensors if t else sizes) for n, t in captured.inputs.items()}
        self.symbols = captured.symbols(self.given)
        self.bases = Bases(module, call)
        self.placed = Placement(self.bases)
        self.sources: dict[StorageKey, _Source] = {}

    def lower(self) -> tuple[Launch, list[Value], dict[tuple[Any, ...], int]]:
        interpreter = _Interpreter(self.symbols, self._storage)
        captured = self.captured
        values = interpreter.values(captured.module, self._arguments(), captured.epilogue)
        written = self._writes(values)
        self._add_inputs()
        self._add_updates(written)
        self._add_sources(values)
        returns = [self._returned(node, values) for node in captured.outputs]
        returns += [self._fresh(captured.mutations[n], values) for n in captured.host_mutations]
        donated = {**self._dying(), **written}
        checks = self.module.program.checks
        self.placed.checks(checks)
        launch = Launch(
            executable=None,
            inputs=[],
            results=self.placed.results,
            returns=returns,
            checks=[(c.exception, c.message) for c in checks],
            rng_increment=0,
            name=self.captured.name,
            donated=[index for _, index in donated],
        )
        return launch, self.placed.values, donated

    def _arguments(self) -> list[Any]:
        return [self._argument(node) for node in self.captured.inputs]

    def _argument(self, node: fx.Node) -> Any:
        given = self.given[node]
        if node in self.captured.runtime_sizes:
            return numbers.marked(self.bases.argument(given))
        return self.bases.argument(given) if self.captured.inputs[node] else given

    def _storage(self, node: fx.Node) -> Storage | None:
        spec = self.given[node]
        if not isinstance(spec, TensorSpec) or spec.dtype != node.meta["val"].dtype:
            return None
        return Storage(*self.bases.storage(spec), told=node.meta["val"].storage_offset())

    def _meta(self, node: fx.Node) -> tuple[graph.Meta, int]:
        val = node.meta["val"]
        meta = graph.meta_of(val, self.symbols)
        return meta, graph.concrete(val.storage_offset(), self.symbols)

    def _writes(self, values: dict[fx.Node, Any]) -> dict[tuple[Any, ...], int]:
        """Updates the inputs; the result that is the new buffer of each base ("base", index)."""
        for target, new in self.captured.mutations.items():
            if target not in self.captured.host_mutations:
                spec = self.given[target]
                self.bases.write(spec, hlo.convert(values[new], spec.dtype))
        return self.placed.writes()

    def _add_inputs(self) -> None:
        """Inputs that keep their contents and lie as the graph was told can be seen through."""
        for node, is_tensor in self.captured.inputs.items():
            spec = self.given[node]
            if not is_tensor or node in self.captured.mutations or not isinstance(spec, TensorSpec):
                continue
            meta, offset = self._meta(node)
            as_told = meta == (tuple(spec.sizes), spec.dtype, tuple(spec.strides))
            if as_told and not spec.conj and not spec.neg:
                source = _Source(("arg", spec.index), meta, offset)
                self.sources.setdefault(storage_of(node), source)

    def _add_updates(self, written: dict[tuple[Any, ...], int]) -> None:
        """What an input holds after the call is a result already, and needs no second buffer."""
        for target, new in self.captured.mutations.items():
            spec = self.given[target]
            if target in self.captured.host_mutations or not self.bases.is_replaced_by(spec):
                continue
            meta, offset = self._meta(new)
            told = graph.Meta(tuple(spec.sizes), spec.dtype, tuple(spec.strides))
            if meta == told and not offset:
                source = _Source(("result", written["base", spec.base]), meta, 0, is_update=True)
                self.sources.setdefault(storage_of(new), source)

    def _add_sources(self, values: dict[fx.Node, Any]) -> None:
        """Of results that share a storage, one that fills it is made; the others are its views. If
        none does, that is the value of which all of them are views."""
        shared: dict[StorageKey, list[fx.Node]] = {}
        for node in self.captured.outputs:
            if _is_placed(node) and isinstance(values[node], Value):
                shared.setdefault(storage_of(node), []).append(node)
        for storage, nodes in shared.items():
            if storage in self.sources or storage[1] in self.captured.mutated_storages:
                continue
            shares = len(set(nodes)) > 1 or any(map(_is_lazy, nodes))
            viewed = [storage[0]] if shares and _is_placed(storage[0]) else []
            filling = next((n for n in [*nodes, *viewed] if self._fills(n, nodes)), None)
            if filling is not None:
                meta, offset = self._meta(filling)
                self.sources[storage] = _Source(self._fresh(filling, values), meta, offset)

    def _fills(self, node: fx.Node, nodes: list[fx.Node]) -> bool:
        meta, offset = self._meta(node)
        if _is_lazy(node) or offset or memory_order(meta.shape, meta.strides) is None:
            return False
        nbytes = meta.numel * meta.dtype.itemsize
        return all(_end(*self._meta(other)) <= nbytes for other in nodes)

    def _returned(self, node: Any, values: dict[fx.Node, Any]) -> tuple[Any, ...]:
        if node is None:
            return ("none",)
        if not isinstance(node, fx.Node):
            return ("value", node)
        value = values[node]
        if not isinstance(value, Value):
            return ("none",) if value is None else ("value", value)
        if not isinstance(node.meta["val"], torch.Tensor):
            return self.placed.new(value, ())  # a number, which `host` reads
        if free_unbacked_symbols(node.meta["val"].storage_offset()):
            raise NotImplementedError(
                f"{node.target} gives a view whose place depends on the data, which a graph cannot "
                "return or keep for its backward pass: clone it"
            )
        source = self.sources.get(storage_of(node)) if _is_placed(node) else None
        if source is None:
            return self._fresh(node, values)
        meta, offset = self._meta(node)
        begin = source.offset * source.meta.dtype.itemsize // meta.dtype.itemsize
        lazy = node.meta["val"].is_conj(), node.meta["val"].is_neg()
        is_same = (meta, offset, any(lazy)) == (source.meta, source.offset, False)
        if is_same and not source.is_update:
            return source.returned
        return (*source.returned, (meta.dtype, meta.shape, meta.strides, offset - begin, *lazy))

    def _fresh(self, node: fx.Node, values: dict[fx.Node, Any]) -> tuple[Any, ...]:
        meta = graph.meta_of(node.meta["val"], self.symbols)
        return self.placed.new(values[node], meta.strides)

    def _dying(self) -> dict[tuple[Any, ...], int]:
        """Saved tensors that the backward pass reads for the last time: a result of the same type
        may take their memory, which the launch allows where nobody else holds them."""
        free = {
            (result[1], result[4]): k
            for k, result in enumerate(self.placed.results)
            if result[0] == "new"
        }
        donated = {}
        for node in self.captured.saved:
            spec = self.given[node]
            if isinstance(spec, TensorSpec) and not spec.requires_offset:
                base = self.call.bases[spec.base]
                k = free.pop((base.dtype, base.shape), None) if base.initialized else None
                if k is not None:
                    donated["base", spec.base] = k
        return donated


def _is_placed(node: Any) -> bool:
    """Whether it is a tensor of the device whose place in its storage does not depend on data."""
    val = node.meta.get("val") if isinstance(node, fx.Node) else None
    if not isinstance(val, torch.Tensor) or val.device.type != "neuron":
        return False
    return not free_unbacked_symbols(val.storage_offset())


def _is_lazy(node: fx.Node) -> bool:
    """Whether its elements are conjugates or negatives of those in its storage."""
    return node.meta["val"].is_conj() or node.meta["val"].is_neg()


def _end(meta: graph.Meta, offset: int) -> int:
    """Bytes from the start of the storage to the end of the view."""
    if not math.prod(meta.shape):
        return 0
    last = offset + sum((n - 1) * s for n, s in zip(meta.shape, meta.strides, strict=True))
    return (last + 1) * meta.dtype.itemsize
