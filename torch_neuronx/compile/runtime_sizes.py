"""Which symbolic numbers of a graph are values of its programs, and not part of their keys.

A number that no shape depends on, such as the position at which a cache is written, is a run-time
input: one program serves all its values. Decided once, from what the graph does with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.utils._pytree import tree_leaves

from torch_neuronx.lowering import numbers, registry

aten = torch.ops.aten
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
# Arguments of ops whose rules take them as run-time numbers where a graph has checked their range.
_POSITIONS = {
    aten.select.int: ("index",),
    aten.select_scatter.default: ("index",),
    aten.slice.Tensor: ("start", "end"),
    aten.slice_scatter.default: ("start", "end"),
}


def runtime_sizes(module: fx.GraphModule) -> set[fx.Node]:
    """The inputs of the graph that are such numbers."""
    placeholders = module.graph.find_nodes(op="placeholder")
    numbers = [n for n in placeholders if type(n.meta["val"]) in (torch.SymInt, torch.SymFloat)]
    if not numbers:
        return set()
    fixed: set[Any] = set()
    for node in module.graph.nodes:
        fixed |= _fixed_by(node)
    return {n for n in numbers if n.meta["val"].node.expr.is_Symbol and not _symbols(n) & fixed}


def _fixed_by(node: Any) -> set[Any]:
    """The symbols whose values a program must know because of one node."""
    if node.op == "output":
        return set().union(*map(_fixed_by_output, tree_leaves(node.args)))
    val = node.meta.get("val")
    if type(val) in _SYMBOLIC:
        is_known = node.op == "placeholder" or node.target in numbers.FUNCTIONS
        return set() if is_known else _symbols(node)
    shapes = set().union(*map(_shape_symbols, tree_leaves(val)))
    if node.op == "placeholder":
        return shapes | set(free_symbols(val.storage_offset()))
    return shapes | _fixed_by_arguments(node)


def _fixed_by_output(node: Any) -> set[Any]:
    """A number is returned as it is; where a result lies in a storage is part of a program."""
    if not isinstance(node, fx.Node):
        return set()
    val = node.meta.get("val")
    return set(free_symbols(val.storage_offset() if isinstance(val, torch.Tensor) else val))


def _fixed_by_arguments(node: Any) -> set[Any]:
    if not isinstance(node.target, OpOverload):
        return set().union(*map(_symbols, node.all_input_nodes))
    declared = node.target._schema.arguments
    given = {a.name: value for a, value in zip(declared, node.args, strict=False)} | node.kwargs
    taken = {a.name for a in declared if isinstance(a.type, torch.TensorType)}
    taken.update(_POSITIONS.get(node.target, ()), _runtime_names(node.target))
    held = [value for name, value in given.items() if name not in taken]
    nodes = [leaf for leaf in tree_leaves(held) if isinstance(leaf, fx.Node)]
    return set().union(*map(_symbols, nodes))


def _runtime_names(op: OpOverload) -> tuple[str, ...]:
    rule = registry.rule(op)
    return () if rule is None else rule.runtime


def _symbols(node: fx.Node) -> set[Any]:
    val = node.meta.get("val")
    return set(free_symbols(val)) if type(val) in _SYMBOLIC else set()


def _shape_symbols(val: Any) -> set[Any]:
    if not isinstance(val, torch.Tensor):
        return set()
    return set(free_symbols([*val.shape, *val.stride()]))
