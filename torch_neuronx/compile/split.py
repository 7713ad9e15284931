"""Graphs with ops that have no program: cut around the ops that may run eagerly.

A custom op without a lowering, or an effect, runs eagerly between two compiled segments, in the
graph's order. An ATen op without a road is a gap of ours and refused, by name and line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.passes.split_module import split_module
from torch.utils._pytree import tree_leaves

from torch_neuronx.compile import origin
from torch_neuronx.compile.calling import Run, op_by_op
from torch_neuronx.compile.captured import on_cpu
from torch_neuronx.lowering import registry

_OURS = ("aten", "prims", "_c10d_functional")


def reason_against(module: fx.GraphModule) -> str | None:
    """Why the graph cannot be compiled, even in segments; None if it can."""
    for node in module.graph.nodes:
        reason = _refusal_of(node)
        if reason is not None:
            where = origin.line_of(node)
            return f"{node.target} {reason}" + (f"\n  {where}" if where else "")
    return None


def _refusal_of(node: Any) -> str | None:
    if node.op == "call_function" and _has_unknown_size(node.meta.get("val")):
        return "gives a size that depends on the data"
    if not is_without_program(node) or runs_between(node):
        return None
    reason = registry.host_reason(node.target) if isinstance(node.target, OpOverload) else ""
    return "has no lowering" + (f" ({reason})" if reason else "")


def _has_unknown_size(val: Any) -> bool:
    sizes = [tuple(v.shape) for v in tree_leaves(val) if isinstance(v, torch.Tensor)]
    return bool(free_unbacked_symbols(sizes))


def is_without_program(node: fx.Node) -> bool:
    if node.op != "call_function":
        return False
    if isinstance(node.target, OpOverload):
        if _draws_on_the_host(node):
            return True
        return registry.rule(node.target) is None and not _is_bookkeeping(node)
    if isinstance(node.target, HigherOrderOperator):
        return registry.higher_order_rule(node.target) is None
    return False


def runs_between(node: fx.Node) -> bool:
    """Whether an op without a program may run eagerly, between two segments."""
    if isinstance(node.target, OpOverload):
        return node.target.namespace not in _OURS or _draws_on_the_host(node)
    return str(node.target) in _EAGER_HIGHER_ORDER


def _draws_on_the_host(node: Any) -> bool:
    """Random numbers of the CPU come from its own generator."""
    return torch.Tag.nondeterministic_seeded in node.target.tags and on_cpu(node)


_EAGER_HIGHER_ORDER = frozenset(
    {"auto_functionalized", "auto_functionalized_v2", "with_effects", "print"}
)


def _is_bookkeeping(node: Any) -> bool:
    """Updates of inputs at the end, sizes, and copies of a graph's own constants."""
    val = node.meta.get("val")
    if isinstance(val, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return True
    return node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder"


def compile_segments(module: fx.GraphModule, compile: Callable[[fx.GraphModule], Run]) -> Run:
    """The graph as one callable: `compile` of the whole, or of what lies between ops that run
    eagerly."""
    cuts = [n for n in module.graph.nodes if is_without_program(n)]
    if not cuts:
        return compile(module)
    return op_by_op(_segmented(module, set(cuts), compile))


def _segmented(
    module: fx.GraphModule, cuts: set[fx.Node], compile: Callable[[fx.GraphModule], Run]
) -> fx.GraphModule:
    """The graph as calls of its segments, those between the cuts compiled."""
    part_of = _parts(module, cuts)
    segmented = split_module(module, module, part_of.__getitem__, keep_original_order=True)
    for name, part in segmented.named_children():
        assert isinstance(part, fx.GraphModule)
        if not any(map(is_without_program, part.graph.nodes)):
            setattr(segmented, name, _Segment(part, compile))
    return segmented


def _parts(module: fx.GraphModule, cuts: set[fx.Node]) -> dict[fx.Node, int]:
    """The number of each node's segment: a cut has its own, with what takes its results apart."""
    number, part_of, whole = 0, dict[fx.Node, int](), set(cuts)
    for node in module.graph.nodes:
        if node.target is operator.getitem and node.args[0] in whole:
            part_of[node] = part_of[node.args[0]]
            whole.add(node)  # perhaps a list, to be taken apart in its turn
            continue
        number += node in cuts
        part_of[node] = number
        number += node in cuts
    return part_of


class _Segment(torch.nn.Module):
    """A part of the graph as the module that it was, with what it returns in the same structure."""

    def __init__(self, part: fx.GraphModule, compile: Callable[[fx.GraphModule], Run]) -> None:
        super().__init__()
        (output,) = part.graph.find_nodes(op="output")
        self.returns_one = isinstance(output.args[0], fx.Node)
        if self.returns_one:
            # A Run returns a sequence, also where it runs the part eagerly.
            output.args = ((output.args[0],),)
            part.recompile()
        self.run = compile(part)

    def forward(self, *args: Any) -> Any:
        results = self.run(list(args))
        return results[0] if self.returns_one else results
