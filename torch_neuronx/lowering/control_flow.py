"""torch.cond, while_loop, scan and map: inner graphs as regions of the program.

AOTAutograd has flattened what they take and return, lifted what their functions capture into
operands and made graphs of their gradients, which call the same operators.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op, while_loop_stack_output_op
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from torch_neuronx.lowering import hlo, regions
from torch_neuronx.lowering.registry import lowers_higher_order
from torch_neuronx.lowering.value import Value


@lowers_higher_order(cond_op)
def _cond(run, out, pred, on_true: fx.GraphModule, on_false: fx.GraphModule, operands):
    """`pred` is a bool of one element, or a number whose value is known."""
    if not isinstance(pred, Value):
        return run(on_true if pred else on_false, operands)
    structure: Any = None

    def flat(branch: fx.GraphModule) -> list[Any]:
        nonlocal structure
        leaves, structure = tree_flatten(run(branch, operands))
        return leaves

    pred = hlo.convert(hlo.reshape(pred, ()), torch.bool)
    results = regions.branches(pred, lambda: flat(on_true), lambda: flat(on_false))
    return tree_unflatten(results, structure)


@lowers_higher_order(while_loop_op)
def _while_loop(run, out, cond: fx.GraphModule, body: fx.GraphModule, carried, additional):
    """Whether to go on is carried along, so that its graph, too, may check what it reads."""

    def goes_on(values):
        return hlo.convert(run(cond, [*values, *additional]), torch.bool)

    def step(_, *values):
        values = run(body, [*values, *additional])
        return goes_on(values), *values

    return regions.loop([goes_on(carried), *carried], lambda go, *_: go, step)[1:]


@lowers_higher_order(while_loop_stack_output_op)
def _while_loop_stack_output(run, out, cond, body, carried, additional):
    raise NotImplementedError(
        "the gradient of while_loop keeps the values of every round, and how many there are "
        "depends on the data; a scan has a known number of rounds"
    )


@lowers_higher_order(scan_op)
def _scan(run, out, combine: fx.GraphModule, init, xs, additional):
    """-> (*carry, *ys): the last carry, and what each round returned beside it, stacked."""
    count = len(init)

    def step(carry, rows):
        got = run(combine, [*carry, *rows, *additional])
        return got[:count], got[count:]

    carry, stacked = _rounds(step, init, xs, out[count:])
    return *carry, *stacked


@lowers_higher_order(map_impl)
def _map(run, out, function: fx.GraphModule, xs, additional):
    metas, structure = tree_flatten(out, is_leaf=_is_meta)

    def step(_, rows):
        return [], tree_leaves(run(function, [*rows, *additional]))

    return tree_unflatten(_rounds(step, [], xs, metas)[1], structure)


def _is_meta(x: Any) -> bool:
    return hasattr(x, "shape")


def _rounds(step, init, xs, metas) -> tuple[list[Any], list[Any]]:
    """Calls carry, ys = step(carry, rows) for the rows of `xs` along dimension 0, in order. `metas`
    are those of the stacked ys, None where there is none."""
    count, times = len(init), xs[0].shape[0]

    def round(i, *state):
        carry, ys = step(state[:count], [_row(x, i) for x in xs])
        present = (y for y in ys if y is not None)
        return [
            i + 1,
            *carry,
            *(_put(s, y, i) for s, y in zip(state[count:], present, strict=True)),
        ]

    empty = [hlo.full(m.shape, 0, m.dtype) for m in metas if m is not None]
    final = regions.loop(
        [hlo.number(0, torch.int32), *init, *empty], lambda i, *_: i < times, round, times
    )
    stacked = iter(final[1 + count :])
    return final[1 : 1 + count], [None if m is None else next(stacked) for m in metas]


def _row(x: Value, i: Value) -> Value:
    zeros = [hlo.number(0, i.dtype)] * (x.ndim - 1)
    return hlo.reshape(hlo.dynamic_slice(x, [i, *zeros], [1, *x.shape[1:]]), x.shape[1:])


def _put(stack: Value, row: Value, i: Value) -> Value:
    zeros = [hlo.number(0, i.dtype)] * row.ndim
    return hlo.dynamic_update_slice(stack, hlo.expand_dims(row, 0), [i, *zeros])
