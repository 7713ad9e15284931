"""Autocast of torchvision's operators: in float32, results in the dtype of the first argument.

As torchvision declares it for CUDA. The dispatcher takes a kernel before its operator is declared,
so these are registered with the device, and torchvision is not imported. Called by registration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_OPERATORS = ("nms", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d")
_KEY = "AutocastPrivateUse1"
_library = torch.library.Library("torchvision", "IMPL")


def register() -> None:
    for name in _OPERATORS:
        _library.impl(name, _kernel(name), _KEY)


def _kernel(name: str) -> Callable[..., Any]:
    autocast = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _KEY))

    def kernel(x: torch.Tensor, *others: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(autocast):
            results = getattr(torch.ops.torchvision, name)(*map(_float32, (x, *others)))
        if isinstance(results, torch.Tensor):
            return _like(results, x)
        return tuple(_like(result, x) for result in results)

    return kernel


def _float32(value: Any) -> Any:
    is_half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if is_half else value


def _like(result: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Indices stay what they are."""
    return result.to(x.dtype) if result.is_floating_point() else result
