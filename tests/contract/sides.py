"""A sample on its two sides: fresh tensors on the CPU, and the same ones on the device."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from .comparison import tensors
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


def in_other(sample: Sample) -> Sample:
    """On the CPU, in the other precision."""
    convert = other_precision(sample)
    return _mapped(sample, lambda value: convert(_tensor(value, "cpu")))


def other_precision(sample: Sample) -> Callable[[Any], Any]:
    """Converts to float64, or to float32 where all of the sample is float64 already: how far the
    results of the two are apart is the effect of roundings.
    """
    found = [t.dtype for t in tensors((sample.args, sample.kwargs)) if _is_rounded(t)]
    is_double = found and all(torch.finfo(dtype).bits == 64 for dtype in found)
    return functools.partial(_converted, torch.float32 if is_double else torch.float64)


def _converted(dtype: torch.dtype, value: Any) -> Any:
    """A leaf that requires a gradient if `value` does."""
    if isinstance(value, torch.nn.Module):
        return value.to(dtype)
    if not isinstance(value, torch.Tensor) or not _is_rounded(value):
        return value
    dtype = dtype.to_complex() if value.is_complex() else dtype
    return value.detach().to(dtype).requires_grad_(value.requires_grad)


def _is_rounded(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


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
