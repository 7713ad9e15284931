"""A sample on its two sides: fresh tensors on the CPU, and the same ones on the device."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from .databases import Sample

DEVICE = "neuron"


def on_cpu(sample: Sample) -> Sample:
    return _mapped(sample, lambda value: _tensor(value, "cpu"))


def on_device(sample: Sample, host: frozenset[int] = frozenset()) -> Sample:
    """Tensors, and what names the CPU (a factory's device=), are the device's.

    The positional arguments numbered in `host` stay on the CPU.
    """
    moved = _mapped(sample, _on_device)
    args = tuple(
        theirs if number in host else ours
        for number, (ours, theirs) in enumerate(zip(moved.args, sample.args, strict=True))
    )
    return replace(moved, args=args)


def in_double(sample: Sample) -> Sample:
    """On the CPU, with float64 or complex128 for what is rounded more coarsely."""
    return _mapped(sample, lambda value: double(_tensor(value, "cpu")))


def double(value: Any) -> Any:
    """A leaf that requires a gradient if `value` does."""
    if isinstance(value, torch.nn.Module):
        return value.double()
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    wide = torch.complex128 if value.is_complex() else torch.float64
    return value.detach().to(wide).requires_grad_(value.requires_grad)


def _mapped(sample: Sample, move: Callable[[Any], Any]) -> Sample:
    args, kwargs = tree_map(move, (sample.args, sample.kwargs))
    return replace(sample, args=args, kwargs=kwargs)


def _on_device(value: Any) -> Any:
    is_cpu = isinstance(value, torch.device) and value.type == "cpu"
    if is_cpu or (isinstance(value, str) and value == "cpu"):
        return torch.device(DEVICE)
    return _tensor(value, DEVICE)


def _tensor(value: Any, device: str) -> Any:
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(device)
    if not isinstance(value, torch.Tensor):
        return value
    moved = placed(value.detach(), device)
    return moved.requires_grad_() if value.requires_grad else moved


def placed(value: torch.Tensor, device: str) -> torch.Tensor:
    """A copy with the same strides and offset, also where they leave gaps or overlap."""
    if value.is_conj():
        return placed(value.conj(), device).conj()
    if value.is_neg():
        return torch._neg_view(placed(torch._neg_view(value), device))
    if value.layout is not torch.strided or value.is_quantized or value.is_nested:
        return value.clone().to(device)
    storage = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
    whole = storage.clone().to(device)
    return whole.as_strided(value.shape, value.stride(), value.storage_offset())
