"""as_strided inside a graph: elements are found by their place in the storage of the tensor.

A Value has no storage. But in the metadata of a graph views share the storage of what they were
made of, and the first value that fills a storage says what all of it holds; of an input that is a
part of its storage the caller may know the rest. Called by `graph`, and for its keys by `compile`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.multiprocessing.reductions import StorageWeakRef

from torch_neuronx.lowering import hlo, recipe
from torch_neuronx.lowering.layout import memory_order
from torch_neuronx.lowering.value import Meta, Value

aten = torch.ops.aten
_READS = frozenset({aten.as_strided.default, aten.as_strided_copy.default})
_WRITES = frozenset({aten.as_strided_scatter.default})


def counts_places(op: Any) -> bool:
    """Whether its strides and offset are those of the storage, not of the tensor."""
    return op in _READS or op in _WRITES


StorageKey = tuple[fx.Node, StorageWeakRef]


def storage_of(node: fx.Node) -> StorageKey:
    """What the nodes have in common that share a storage. Metadata alone does not tell: the results
    of two calls of one inner graph may be the same fake tensors."""
    return _viewed(node), StorageWeakRef(node.meta["val"].untyped_storage())


def _viewed(node: Any) -> fx.Node:
    """The node of which it is a view, itself if it is none."""
    from torch_neuronx.eager.roads import is_view

    source = node.args[0] if node.target is operator.getitem else node
    if isinstance(source.target, OpOverload) and is_view(source.target):
        return _viewed(source.args[0])
    return node


@dataclass(frozen=True)
class Storage:
    """`flat` is all of it, in memory order. An input that the graph's metadata has at `told` begins
    at `start` in a call."""

    flat: Value
    start: Value | int = 0
    told: Any = 0


class Storages:
    """The values that fill the storages of one graph."""

    def __init__(self, meta_of: Callable[[Any], Meta], number: Callable[[Any], int]) -> None:
        self._meta_of = meta_of
        self._number = number
        self._known: dict[StorageKey, Storage] = {}

    def add_input(self, node: fx.Node, storage: Storage) -> None:
        """Notes the storage of an input, of which the input itself may be a part."""
        self._known.setdefault(storage_of(node), storage)

    def add(self, node: fx.Node, value: Any) -> None:
        """Notes what a node's storage holds, if the node's tensor is all of it."""
        val = node.meta.get("val")
        if not isinstance(value, Value) or not isinstance(val, torch.Tensor):
            return
        if storage_of(node) in self._known:
            return
        meta, nbytes = self._meta_of(val), self._number(val.untyped_storage().nbytes())
        if memory_order(meta.shape, meta.strides) is None or self._number(val.storage_offset()):
            return
        if meta.numel * meta.dtype.itemsize == nbytes:
            flat = hlo.reshape(recipe.to_memory(value, meta.strides), (value.numel,))
            self._known[storage_of(node)] = Storage(flat)

    def apply(self, node: Any, args: Any, kwargs: Any) -> Value:
        """The result of an as_strided node, whose arguments are these."""
        source = node.args[0].meta["val"]
        storage = self._known.get(storage_of(node.args[0]))
        if storage is None or storage.flat.dtype != source.dtype:
            raise NotImplementedError("it reads a storage of which the graph sees a part only")
        flat = storage.flat
        given = dict(zip(("self", "src", "size", "stride", "offset"), args, strict=False))
        if node.target in _READS:
            given = dict(zip(("self", "size", "stride", "offset"), args, strict=False))
        offset = given.get("offset", kwargs.get("storage_offset"))
        if offset is None:
            offset = storage.start + self._number(source.storage_offset() - storage.told)
        if node.target in _READS:
            return recipe.gather_strided(flat, given["size"], given["stride"], offset)
        meta = self._meta_of(source)
        if meta.numel != flat.numel:
            raise NotImplementedError("it writes to a storage of which its result is a part only")
        new = hlo.broadcast_to(given["src"], tuple(given["size"]))
        written = recipe.scatter_strided(flat, new, given["stride"], offset)
        return recipe.gather_strided(written, meta.shape, meta.strides)
