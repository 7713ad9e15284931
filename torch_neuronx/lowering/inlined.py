"""Higher-order operators that only mark a part of a graph: their inner graph is run in its place.

A region compiled once (nested_compile_region), a map over lists, hints, what another backend may
quantize. Checkpoints and autograd functions never come here: AOTAutograd inlines them.
"""

from __future__ import annotations

from torch import fx
from torch._higher_order_ops._invoke_quant import invoke_quant, invoke_quant_packed
from torch._higher_order_ops.foreach_map import _foreach_map
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.invoke_subgraph import invoke_subgraph
from torch._higher_order_ops.wrap import wrap

from torch_neuronx.lowering.registry import lowers_higher_order


@lowers_higher_order(invoke_subgraph)
def _invoke_subgraph(run, out, graph: fx.GraphModule, identifier: str, *operands):
    return run(graph, operands)


@lowers_higher_order(_foreach_map, wrap)
def _run(run, out, graph: fx.GraphModule, *operands):
    return run(graph, operands)


@lowers_higher_order(invoke_quant, invoke_quant_packed)
def _invoke_quant(run, out, graph: fx.GraphModule, *operands, scheme=None, quant_options=None):
    return run(graph, operands)


@lowers_higher_order(hints_wrapper)
def _hints(run, out, graph: fx.GraphModule, args, kwargs, hints):
    return run(graph, args)
