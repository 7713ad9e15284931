"""Which elements of memory tensors name: what may be written, and copies that keep the sharing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """All of a tensor's storage, in one dimension."""
    flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return flat.set_(tensor.detach().untyped_storage())


def storage(tensor: torch.Tensor) -> int:
    """The same number for tensors that share memory."""
    return tensor.untyped_storage()._cdata


def places(tensor: torch.Tensor) -> torch.Tensor:
    """The index in its storage of each element."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    strided = torch.arange(size).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return strided.reshape(-1)


def may_write(target: torch.Tensor, others: Iterable[torch.Tensor]) -> bool:
    """Whether PyTorch defines the result of writing `target` while reading `others`.

    It does not where two elements of the target are one place, nor where another tensor overlaps
    the target without being the same view of it: kernels then read what they have just written.
    """
    mine = places(target)
    if mine.unique().numel() < mine.numel():
        return False
    for other in others:
        if storage(other) != storage(target):
            continue
        if other.dtype != target.dtype:
            return False
        theirs = places(other)
        if not torch.equal(mine, theirs) and torch.isin(theirs, mine).any():
            return False
    return True


def node(tensor: torch.Tensor) -> str:
    """The name of the function that a gradient goes to first, "" for none.

    Autograd gives none for one of several views of a function after another was written. Attention
    has a function for each kind of device.
    """
    try:
        name = tensor.grad_fn.name() if tensor.grad_fn is not None else ""
        return re.sub("^ScaledDotProduct.*", "ScaledDotProductBackward", name)
    except RuntimeError:
        return ""


def copied(names: dict[str, Any]) -> dict[str, Any]:
    """Copies of the tensors that share memory as they do; they are no part of a graph."""
    copies: dict[int, torch.UntypedStorage] = {}
    result = {}
    for name, value in names.items():
        if isinstance(value, torch.Tensor):
            key = storage(value)
            if key not in copies:
                copies[key] = value.untyped_storage().clone()
            plain = torch.empty(0, dtype=value.dtype).set_(
                copies[key], value.storage_offset(), value.shape, value.stride()
            )
            if value.is_conj():
                plain = torch._conj(plain)
            if value.is_neg():
                plain = torch._neg_view(plain)
            value = plain
        result[name] = value
    return result
