"""What `miss` answers: a program to launch, or which other road the call takes.

C++ reads these by attribute; the disk cache stores their fields, apart from the executable. Made by
`plan`; this module imports neither jaxlib nor the rules, so that a disk hit needs neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Launch:
    """Run `executable` on `inputs` and distribute its results.

    inputs: ("base", i) | ("number", k) | ("offset", tensor index) | ("rng",), in parameter order.
    results: ("new", dtype, sizes, strides, physical shape) | ("write", base, dtype, physical shape)
    | ("check",): int64[2n], (failed, value) for each of `checks` | ("counts", n): int64[n], sizes
    that depend on the data. A "new" that has one ends in (dimension, which count, dimensions from
    the outermost in memory on): its sizes are then the largest that it may have, and its buffer is
    flat.
    returns: one per schema return: ("result", k) | ("arg", tensor index) | ("list", [...])
    | ("none",) | ("value", python value). A view (dtype, sizes, strides, offset,
    conjugated, negated) may follow the first two; it has to where result k is a write, whose buffer
    the new tensor then shares.
    checks: (exception type name, message with at most one {}).
    donated: bases whose buffers the program may write into, when nothing else holds them.
    """

    executable: Any
    inputs: list[tuple[Any, ...]]
    results: list[tuple[Any, ...]]
    returns: list[tuple[Any, ...]]
    checks: list[tuple[str, str]]
    rng_increment: int
    name: str
    donated: list[int] = field(default_factory=list)


@dataclass
class Resize:
    """out= arguments to resize before the call is looked up again: index -> (sizes, strides)."""

    targets: list[tuple[int, tuple[int, ...], tuple[int, ...]]]


@dataclass
class Host:
    """Run the op on the host; `reason` is one sentence for the user."""

    reason: str


@dataclass
class Composite:
    """Run PyTorch's own composite kernel, which calls other ops of the device."""


Program = Launch | Resize | Host | Composite
