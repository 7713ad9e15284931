"""torch.associative_scan with an inner graph that combines two elements: log2(n) rounds of it."""

from __future__ import annotations

import torch
from torch import fx
from torch._higher_order_ops.associative_scan import associative_scan_op, generic_associative_scan

from torch_neuronx.lowering import definition
from torch_neuronx.lowering.registry import lowers_higher_order


@lowers_higher_order(associative_scan_op)
def _associative_scan(run, out, combine: fx.GraphModule, xs, additional):
    """The graph is of single elements; a round combines many of them at once."""
    elements = (0,) * 2 * len(xs) + (None,) * len(additional)

    def scanned(combine, xs, additional):
        mapped = torch.vmap(combine, in_dims=elements)
        return tuple(generic_associative_scan(mapped, xs, additional_inputs=additional))

    return definition.lower(run, scanned, combine, list(xs), tuple(additional))
