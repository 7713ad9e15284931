"""Random ops that a backward pass repeats: with activation checkpointing it draws them anew.

The forward graph saves the generator's state before such an op, the (seed, offset) that is a
program's input; the backward graph runs the op from there, and moves nothing.
"""

from __future__ import annotations

from torch._ops import OpOverload
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state

from torch_neuronx.lowering import context, rng
from torch_neuronx.lowering.registry import lowers_higher_order
from torch_neuronx.lowering.value import Value


@lowers_higher_order(run_and_save_rng_state)
def _run_and_save(run, out, op: OpOverload, *args, **kwargs):
    """-> (state, the results of the op)"""
    from torch_neuronx.lowering.graph import apply_rule

    state = rng.state()
    return state, apply_rule(op, out[1], args, kwargs)


@lowers_higher_order(run_with_rng_state)
def _run_from(run, out, state: Value, op: OpOverload, *args, **kwargs):
    from torch_neuronx.lowering.graph import apply_rule

    with context.part(rng_start=state) as part:
        results = apply_rule(op, out, args, kwargs)
    context.current().checks.extend(part.checks)
    return results
