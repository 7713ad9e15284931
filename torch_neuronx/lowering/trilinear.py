"""The rule of _trilinear, the product of three tensors that bilinear layers are made of.

Each operand lacks some of the product's dimensions; some are summed. Two contractions do it, so
the product is never made.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.registry import lowers
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

# A value and which dimensions of the product its own are.
Labelled = tuple[Value, list[int]]


@lowers(aten._trilinear.default)
def _trilinear(out, x, y, z, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """`expand1` are the dimensions that x lacks; the result lacks the `sumdim`."""
    rank = x.ndim + len(expand1)
    kept = [d for d in range(rank) if d not in sumdim]
    a, b, c = (
        _labelled(v, rank, lacking, compute_dtype(out.dtype))
        for v, lacking in ((x, expand1), (y, expand2), (z, expand3))
    )
    _check_sizes(a, b, c)
    both = contract(a, b, {*kept, *c[1]})
    value, labels = contract(both, c, kept)
    shape = [n if d in labels else 1 for d, n in zip(kept, out.shape, strict=True)]
    value = hlo.transpose(value, [labels.index(d) for d in kept if d in labels])
    return hlo.convert(hlo.broadcast_to(hlo.reshape(value, shape), out.shape), out.dtype)


def _labelled(x: Value, rank: int, lacking: Sequence[int], dtype: torch.dtype) -> Labelled:
    return hlo.convert(x, dtype), [d for d in range(rank) if d not in lacking]


def _check_sizes(*operands: Labelled) -> None:
    sizes: dict[int, int] = {}
    for x, labels in operands:
        for d, n in zip(labels, x.shape, strict=True):
            if sizes.setdefault(d, n) != n:
                raise NotImplementedError("a dimension is repeated that an operand does not lack")


def contract(x: Labelled, y: Labelled, kept: Collection[int]) -> Labelled:
    """The product of two, summed over the dimensions that are not `kept`."""
    (a, of_a), (b, of_b) = _summed(x, y, kept), _summed(y, x, kept)
    batch = [d for d in of_a if d in of_b and d in kept]
    inner = [d for d in of_a if d in of_b and d not in kept]
    value = hlo.dot_general(
        a,
        b,
        batch=([of_a.index(d) for d in batch], [of_b.index(d) for d in batch]),
        contract=([of_a.index(d) for d in inner], [of_b.index(d) for d in inner]),
    )
    free = [d for d in of_a if d not in of_b] + [d for d in of_b if d not in of_a]
    return value, batch + free


def _summed(x: Labelled, other: Labelled, kept: Collection[int]) -> Labelled:
    """Without the dimensions of `x` alone that are summed."""
    value, labels = x
    alone = [d for d in labels if d not in kept and d not in other[1]]
    value = hlo.reduce(value, [labels.index(d) for d in alone], "add") if alone else value
    return value, [d for d in labels if d not in alone]
