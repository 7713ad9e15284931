"""For which values PyTorch defines the result of an operator. Each gets the tensors drawn."""

from __future__ import annotations

import math

import torch

from . import memory


def fits_integer(t: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether C++ defines the cast of each element to any integer type."""
    if not t.dtype.is_floating_point:
        return not t.dtype.is_complex
    return bool(((t >= 0) & (t < 128)).all())


def divides(t: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the division of integers is one: by zero it is an error, in an order of checks that
    is nobody's, and of the smallest integer by -1 some of the CPU's kernels end the process.
    """
    if other.dtype.is_floating_point:
        return True
    return bool((other != 0).all()) and (has_absolutes(t) or bool((other != -1).all()))


def has_absolutes(*tensors: torch.Tensor) -> bool:
    """Whether the absolute value of each integer is one: without it the CPU's least common multiple
    ends the process.
    """
    return not any(
        (t == torch.iinfo(t.dtype).min).any()
        for t in tensors
        if t.dtype in (torch.int64, torch.int32)
    )


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


def multiplies(t: torch.Tensor) -> bool:
    """Whether the product of the elements stays in range whatever their order: beyond it, infinity
    may meet a zero.
    """
    sizes = t.detach().abs().double()
    sizes = sizes[(sizes > 0) & sizes.isfinite()]
    wide = t.dtype in (torch.float64, torch.complex128)
    limit = torch.finfo(torch.float64 if wide else torch.float32).max
    return bool(sizes.log2().abs().sum() < math.log2(limit)) or not t.dtype.is_floating_point


def without_nan(t: torch.Tensor) -> bool:
    """Whether the elements have an order."""
    return not t.isnan().any()


def gives_gradients(t: torch.Tensor) -> bool:
    """Whether the gradient of an exponential linear unit is told: the CPU's vectors have another
    one for NaN than what is left after them.
    """
    return not t.requires_grad or without_nan(t)


def has_exact_trigamma(t: torch.Tensor) -> bool:
    """Whether digamma's gradient is exact to the dtype on the CPU, whose series ends at 5e-10."""
    return not (t.requires_grad and t.dtype is torch.float64)


def has_spread(t: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether the last dimension is more than its mean, of which the CPU leaves a rounding when it
    is normalised; the weight's gradient would consist of that.
    """
    return t.size(-1) > 1


def has_median(t: torch.Tensor) -> bool:
    """Whether the CPU finds the median: of expanded tensors it gives other elements."""
    return memory.may_write(t, ()) and tells_equals_apart(t)


def tells_equals_apart(t: torch.Tensor) -> bool:
    """Whether nobody sees which of several equal elements was chosen: one of them alone would get a
    gradient.
    """
    return not t.requires_grad or (without_nan(t) and t.unique().numel() == t.numel())


def apart(*tensors: torch.Tensor) -> bool:
    """Whether the last shares no memory with the others: a kernel that moves elements writes some
    before it has read all.
    """
    return memory.storage(tensors[-1]) not in {memory.storage(t) for t in tensors[:-1]}
