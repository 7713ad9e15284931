"""What Dynamo knows of the device: torch.neuron as a DeviceInterface.

Registered when the backend is first used, after PyTorch's own interfaces, whose lazy registration
would otherwise be mistaken for done.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._dynamo.device_interface import (
    DeviceInterface,
    get_registered_device_interfaces,
    register_interface_for_device,
)

from torch_neuronx import device as neuron


class NeuronInterface(DeviceInterface):
    device = neuron.device
    Event = neuron.Event
    Stream = neuron.Stream
    current_device = staticmethod(neuron.current_device)
    set_device = staticmethod(neuron.set_device)
    device_count = staticmethod(neuron.device_count)
    is_available = staticmethod(neuron.is_available)
    stream = staticmethod(neuron.stream)
    current_stream = staticmethod(neuron.current_stream)
    set_stream = staticmethod(neuron.set_stream)
    synchronize = staticmethod(neuron.synchronize)
    exchange_device = staticmethod(neuron._exchange_device)
    maybe_exchange_device = staticmethod(neuron._maybe_exchange_device)
    get_device_properties = staticmethod(neuron.get_device_properties)
    memory_allocated = staticmethod(neuron.memory_allocated)

    @staticmethod
    def get_compute_capability(device: Any = None) -> Any:
        return neuron.get_device_capability(device)

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        return neuron.is_bf16_supported()

    @staticmethod
    def is_dtype_supported(dtype: torch.dtype, including_emulation: bool = False) -> bool:
        return True


@functools.cache
def register() -> None:
    get_registered_device_interfaces()
    register_interface_for_device("neuron", NeuronInterface)
    for index in range(neuron.device_count()):
        register_interface_for_device(f"neuron:{index}", NeuronInterface)
