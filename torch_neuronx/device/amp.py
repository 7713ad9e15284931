"""Automatic mixed precision. The lists of ops, CUDA's, are in csrc/device/autocast.cpp.

`torch.autocast("neuron")` casts to bfloat16 unless told otherwise. PyTorch keeps that default
per thread and gives new threads float16: name the dtype there, or use `autocast` of this module,
whose default is bfloat16 everywhere.
"""

from functools import partial

import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

custom_fwd = partial(torch.amp.custom_fwd, device_type="neuron")
custom_bwd = partial(torch.amp.custom_bwd, device_type="neuron")


class autocast(torch.amp.autocast_mode.autocast):
    """`torch.autocast("neuron", dtype)`; `dtype` is bfloat16, float16 or float32."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype = torch.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        super().__init__("neuron", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("neuron")`; only float16 needs one."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            "neuron", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always True: a platform without bfloat16 units computes it in float32 and rounds."""
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that autocast accepts."""
    return [torch.bfloat16, torch.float16, torch.float32]
