"""Which dtype to compute in. Called by rules that widen bfloat16 and float16."""

from __future__ import annotations

import torch

_WIDE = {
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
    torch.complex32: torch.complex64,
    torch.float8_e4m3fn: torch.float32,
    torch.float8_e5m2: torch.float32,
    torch.float8_e4m3fnuz: torch.float32,
    torch.float8_e5m2fnuz: torch.float32,
    torch.float8_e8m0fnu: torch.float32,
}


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for floats narrower than that (PyTorch's opmath type), else the dtype itself."""
    return _WIDE.get(dtype, dtype)
