"""What a device is: its name, memory and dtypes."""

from dataclasses import dataclass
from typing import Any

import torch

from torch_neuronx import _C
from torch_neuronx.device.selection import Device, device_index


@dataclass(frozen=True)
class DeviceProperties:
    """`total_memory` is in bytes; `platform` is what the PJRT plugin calls itself."""

    name: str
    total_memory: int
    platform: str


def get_device_properties(device: Device = None) -> DeviceProperties:
    """Name, memory and platform of a device. Opens the device."""
    index = device_index(device)
    total_memory = _C._total_memory(index)
    platform = _C.client().platform_name
    return DeviceProperties(f"neuron ({platform})", total_memory, platform)


def get_device_name(device: Device = None) -> str:
    """The device's name: "neuron" and the platform that runs it. Opens the device."""
    return get_device_properties(device).name


def get_device_capability(device: Device = None) -> dict[str, Any]:
    """{"supported_dtypes": set of torch.dtype}: the dtypes that tensors of the device may have."""
    return torch.accelerator.get_device_capability(device_index(device))
