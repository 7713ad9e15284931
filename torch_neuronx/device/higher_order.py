"""Higher-order operators (cond, checkpoints, flex_attention) under autocast for the device.

PyTorch tells each that autocast for its own devices concerns the ops of their graphs only, and has
flex_attention cast its inputs; here the same is said for ours. Called when the device is registered
and, for operators that PyTorch defines later, by the backend of torch.compile.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey, DispatchKeySet
from torch._higher_order_ops.flex_attention import flex_attention

_AUTOCAST = DispatchKey.AutocastPrivateUse1  # type: ignore[attr-defined]


def register() -> None:
    """May be called again."""
    if _AUTOCAST not in flex_attention.py_kernels:
        flex_attention.py_impl(_AUTOCAST)(_flex_attention)
    for op in torch._ops._higher_order_ops.values():
        if _AUTOCAST not in op.py_kernels:
            op.fallthrough(_AUTOCAST)


def _flex_attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Any:
    dtype = torch.get_autocast_dtype("neuron")
    wide = (torch.float64, dtype)
    inputs: Any = (
        x.to(dtype) if x.is_floating_point() and x.dtype not in wide else x
        for x in (query, key, value)
    )
    with torch._C._ExcludeDispatchKeyGuard(DispatchKeySet(_AUTOCAST)):
        return flex_attention(*inputs, *rest)
