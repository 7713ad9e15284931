"""Factories in terms of arange, for tracing: PyTorch's own kernels of them write into tensors that
they resize, which functionalization cannot follow. Each rounds where PyTorch's kernel does.

Eagerly the kernels run as they are. Called by the backend of torch.compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten


def factories() -> dict[OpOverload, Callable[..., torch.Tensor]]:
    written: dict[Any, Callable[..., torch.Tensor]] = {
        aten.bartlett_window: _bartlett,
        aten.blackman_window: _blackman,
        aten.hamming_window: _hamming,
        aten.fft_fftfreq: _fftfreq,
    }
    return {
        getattr(packet, name): function
        for packet, function in written.items()
        for name in packet.overloads()
        if "out" not in name
    }


def _bartlett(length: int, periodic: bool = True, **options: Any) -> torch.Tensor:
    """A triangle from 0 over 1 to 0."""
    span = length if periodic else length - 1
    if length <= 1:
        return torch.ones(length, **_placement(options))
    rising = torch.arange(length, **_placement(options)) * (2 / span)
    places = torch.arange(length, device=options.get("device"))
    return torch.where(places <= span // 2, rising, 2 - rising)


def _blackman(length: int, periodic: bool = True, **options: Any) -> torch.Tensor:
    """0.42 - 0.5 cos(2x) + 0.08 cos(4x) with x from 0 to pi."""
    span = length if periodic else length - 1
    if length <= 1:
        return torch.ones(length, **_placement(options))
    x = torch.arange(length, **_placement(options)) * (math.pi / span)
    return torch.cos(x * 4) * 0.08 - torch.cos(x * 2) * 0.5 + 0.42


def _hamming(
    length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> torch.Tensor:
    """alpha - beta cos(x) with x from 0 to 2 pi."""
    span = length if periodic else length - 1
    if length <= 1:
        return torch.ones(length, **_placement(options))
    x = torch.arange(length, **_placement(options)) * (2 * math.pi / span)
    return torch.cos(x) * -beta + alpha


def _fftfreq(n: int, d: float = 1.0, **options: Any) -> torch.Tensor:
    """0, 1, ..., -2, -1 cycles in n samples that are d apart."""
    placement = _placement(options)
    rising = torch.arange(n, **placement)
    places = torch.arange(n, device=placement["device"])
    return torch.where(places < (n + 1) // 2, rising, rising - n) * (1 / (n * d))


def _placement(options: dict[str, Any]) -> dict[str, Any]:
    dtype = options.get("dtype") or torch.get_default_dtype()
    return {"dtype": dtype, "device": options.get("device")}
