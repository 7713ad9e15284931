"""For which values PyTorch defines the result of an operator. Each gets the tensors drawn."""

from __future__ import annotations

import torch

from . import memory


def fits_integer(t: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether C++ defines the cast of each element to any integer type."""
    if not t.dtype.is_floating_point:
        return not t.dtype.is_complex
    return bool(((t >= 0) & (t < 128)).all())


def divides(t: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the division of integers is one: by zero it is an error, in an order of checks that
    is nobody's.
    """
    return other.dtype.is_floating_point or bool((other != 0).all())


def finite(*tensors: torch.Tensor) -> bool:
    """Where a kernel may leave out products with the zeros of padding, as some of PyTorch's do,
    where a running mean makes NaN of infinity, and where the bits of a NaN would be seen.
    """
    return all(bool(t.isfinite().all()) for t in tensors)


def attends(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether all scores are numbers: the CPU's kernel takes a row of few NaNs for masked, because
    the maximum that it takes of less than a vector of scores leaves NaN out.
    """
    return without_nan(query.double() @ key.double().mT)


def without_nan(t: torch.Tensor) -> bool:
    """Whether the elements have an order."""
    return not t.isnan().any()


def apart(*tensors: torch.Tensor) -> bool:
    """Whether the last shares no memory with the others: a kernel that moves elements writes some
    before it has read all.
    """
    return memory.storage(tensors[-1]) not in {memory.storage(t) for t in tensors[:-1]}
