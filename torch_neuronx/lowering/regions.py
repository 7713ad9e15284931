"""Branches and loops whose code may check its data and draw random bits, as an eager run would.

What a region checks comes out of it as further results, to be raised with the program's other
checks. How far random bits move the generator must be known when the program is built: so branches
may draw them in equal amounts only, and a loop only if it runs a known number of times. Called by
the rules of higher-order operators.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from torch_neuronx.lowering import context, hlo, rng
from torch_neuronx.lowering.context import Program
from torch_neuronx.lowering.hlo import Block
from torch_neuronx.lowering.numbers import like, number
from torch_neuronx.lowering.value import Value

_FLAG = ((), torch.bool)
_SHOWN = ((), torch.int64)
_STATE = ((2,), torch.uint64)


def branches(
    pred: Value, on_true: Callable[[], Sequence[Any]], on_false: Callable[[], Sequence[Any]]
) -> list[Any]:
    """The results of one of two functions: Values of the same kinds in both, None in both, and
    numbers, which become run-time numbers where they differ."""
    blocks, parts, results = zip(*map(_branch, (on_true, on_false)), strict=True)
    used = {part.rng_used for part in parts}
    if used != {context.current().rng_used}:
        _refuse_in_backward()
    if len(used) > 1:
        raise NotImplementedError(
            "its branches draw different amounts of random numbers, so that the numbers drawn "
            "after it would depend on the data"
        )
    (context.current().rng_used,) = used
    varying = [not _is_constant(a, b) for a, b in zip(*results, strict=True)]
    returned = [
        _returned(block, part, parts, [r for r, v in zip(values, varying, strict=True) if v])
        for block, part, values in zip(blocks, parts, results, strict=True)
    ]
    got = iter(hlo.if_blocks(pred, blocks, returned))
    merged = [
        like(left, next(got)) if v else left for left, v in zip(results[0], varying, strict=True)
    ]
    for part in parts:
        _raise(part, got, leaves_target=True)
    return merged


def loop(
    inits: Sequence[Any],
    proceed: Callable[..., Value],
    body: Callable[..., Sequence[Any]],
    times: int | None = None,
) -> list[Value]:
    """values = body(*values) while proceed(*values), `times` times where that is known.

    `inits` are Values and numbers, and so are the results. It ends early when a check fails.
    `proceed` may neither check nor draw.
    """
    inits = [number(v) for v in inits]
    count, block = len(inits), Block()
    given = [like(v, block.argument((v.shape, v.dtype))) for v in inits]
    state = _Carried(block)
    with block.open(), context.part(rng_start=state.value) as part:
        results = [like(v, r) for v, r in zip(inits, body(*given), strict=True)]
        results += state.moved(part.rng_used)
        results += _accumulated(block, part)
    if part.rng_used:
        _refuse_in_backward()
    if part.rng_used and times is None:
        raise NotImplementedError(
            "its body draws random numbers: how many of them depends on the data, and so would "
            "the numbers drawn after it"
        )
    starts = [*inits, *state.start(), *_no_failures(part)]
    failed = range(len(starts) - 2 * len(part.checks), len(starts), 2)

    def condition(*values: Value) -> Value:
        go = proceed(*(like(v, x) for v, x in zip(inits, values, strict=False)))
        return functools.reduce(lambda go, at: go & ~values[at], failed, go)

    final = hlo.while_block(starts, condition, block, results)
    context.current().rng_used += part.rng_used * (times or 0)
    _raise(part, iter(final[len(starts) - 2 * len(part.checks) :]), leaves_target=False)
    return [like(v, r) for v, r in zip(inits, final[:count], strict=True)]


class _Carried:
    """The (seed, offset) that one round of a loop hands to the next, if it draws from it."""

    def __init__(self, block: Block) -> None:
        self._used = False
        self._block = block
        self.value = Value(self._argument, *_STATE)

    def _argument(self) -> Any:
        self._used = True
        return self._block.argument(_STATE).ir

    def start(self) -> list[Value]:
        return [rng.state()] if self._used else []

    def moved(self, by: int) -> list[Value]:
        return [rng.moved(self.value, by)] if self._used else []


def _branch(function: Callable[[], Sequence[Any]]) -> tuple[Block, Program, list[Any]]:
    block = Block()
    with block.open(), context.part() as part:
        return block, part, list(function())


def _refuse_in_backward() -> None:
    """PyTorch's gradients of cond and map run their functions again, and draw other numbers."""
    if context.current().is_backward:
        raise NotImplementedError(
            "its gradient would draw other random numbers than the forward pass did: draw them "
            "outside and pass them in"
        )


def _is_constant(a: Any, b: Any) -> bool:
    return not isinstance(a, Value) and not isinstance(b, Value) and a == b


def _returned(
    block: Block, part: Program, parts: Sequence[Program], values: Sequence[Any]
) -> list[Value]:
    """`values` and what the branches check, which nothing fails in those that are not `part`."""
    with block.open():
        returned = [number(v) for v in values]
        for other in parts:
            if other is part:
                returned += [v for c in part.checks for v in (c.failed, c.value)]
            else:
                returned += _no_failures(other)
    return returned


def _no_failures(part: Program) -> list[Value]:
    return [hlo.full((), 0, dtype) for _ in part.checks for dtype in (torch.bool, torch.int64)]


def _accumulated(block: Block, part: Program) -> list[Value]:
    """What each check found, in this round of a loop or an earlier one."""
    found = []
    for check in part.checks:
        before, shown = block.argument(_FLAG), block.argument(_SHOWN)
        found += [before | check.failed, hlo.select(before, shown, check.value)]
    return found


def _raise(part: Program, found: Iterator[Value], *, leaves_target: bool) -> None:
    """Checks around a region what was found inside."""
    for check in part.checks:
        failed, value = next(found), next(found)
        keeps = leaves_target and check.leaves_target
        context.check(failed, check.exception, check.message, value, leaves_target=keeps)
