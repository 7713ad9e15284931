"""How a strided view lies in its storage: pure arithmetic on sizes and strides, no values.

Called by `recipe`, and by whoever needs the buffer shape of a fresh tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """One dimension of a view that does not overlap itself, dimensions ordered by stride.

    `extent`: from the first to just past the last element of this dimension and those inside it;
    `inner_extent`: the same without this dimension.
    """

    dim: int
    size: int
    stride: int
    extent: int
    inner_extent: int


def memory_order(sizes: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """The dimensions from outermost to innermost in memory; None unless dense without overlap."""
    if is_contiguous(sizes, strides):
        return list(range(len(sizes)))
    order = sorted(range(len(sizes)), key=lambda d: -strides[d])
    expected = 1
    for d in reversed(order):
        if sizes[d] != 1 and strides[d] != expected:
            return None
        expected *= sizes[d]
    return order


def physical_shape(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The dims of the buffer of a fresh dense tensor: its sizes in memory order."""
    order = memory_order(sizes, strides)
    return tuple(sizes[d] for d in order) if order is not None else tuple(sizes)


def levels_of(sizes: Sequence[int], strides: Sequence[int]) -> list[Level] | None:
    """The dimensions that move, outermost first; None if they interleave or overlap.

    Dimensions of size 1 and of stride 0 do not move.
    """
    moving = [d for d, n in enumerate(sizes) if n > 1 and strides[d] > 0]
    moving.sort(key=lambda d: strides[d])
    levels: list[Level] = []
    inner = 1
    for d in moving:
        if strides[d] < inner:
            return None
        extent = (sizes[d] - 1) * strides[d] + inner
        levels.append(Level(d, sizes[d], strides[d], extent, inner))
        inner = extent
    return levels[::-1]


def box_of(levels: list[Level] | None, count: int) -> tuple[int, ...] | None:
    """The dims that make a storage of `count` elements an array of which the view is a box.

    One dimension per level, plus one for what is left of the offset unless the last stride is 1.
    """
    if not levels:
        return None
    strides = [count] + [v.stride for v in levels] + [1]
    pairs = list(itertools.pairwise(strides))
    if any(outer % inner for outer, inner in pairs):
        return None
    dims = tuple(outer // inner for outer, inner in pairs)
    return dims if levels[-1].stride != 1 else dims[:-1]


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Dense, in the order of its dimensions; as in PyTorch, also whatever is empty."""
    if 0 in sizes:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
