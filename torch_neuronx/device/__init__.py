"""torch.neuron: devices, streams, events, memory, random numbers and autocast.

The counterpart of torch.cuda, with its names and meanings. Registered as `torch.neuron` by
torch_neuronx._registration. Nothing here opens the device unless it has to answer from it:
`is_initialized` tells whether that has happened.

A `device` argument may be an index, a torch.device, a string such as "neuron:1", or None for the
current device; a wrong type or an index that does not exist raises ValueError or RuntimeError.
"""

from typing import Any

from torch_neuronx.device import amp, memory, random
from torch_neuronx.device.amp import get_amp_supported_dtype, is_bf16_supported
from torch_neuronx.device.memory import (
    empty_cache,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from torch_neuronx.device.properties import (
    DeviceProperties,
    get_device_capability,
    get_device_name,
    get_device_properties,
)
from torch_neuronx.device.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_neuronx.device.selection import (  # noqa: F401  (the private names are API of torch)
    _exchange_device,
    _is_in_bad_fork,
    _lazy_init,
    _maybe_exchange_device,
    current_device,
    device,
    device_count,
    init,
    is_available,
    is_initialized,
    set_device,
)
from torch_neuronx.device.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
    synchronize,
)
from torch_neuronx.runtime.metrics import get_dynamo_metrics, reset_dynamo_metrics

__all__ = [
    "DeviceProperties",
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_dynamo_metrics",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "random",
    "reset_accumulated_memory_stats",
    "reset_dynamo_metrics",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


# What Inductor asks the module of a private backend for.
_INDUCTOR = ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen")


def __getattr__(name: str) -> Any:
    if name == "default_generators":  # made with the first use, as the devices are counted then
        return random.default_generators()
    if name == "_initialized":  # else activation checkpointing does not save generators' states
        return is_initialized()
    if name in _INDUCTOR:
        from torch_neuronx.compile import inductor

        return getattr(inductor, name)
    raise AttributeError(f"module 'torch.neuron' has no attribute {name!r}")
