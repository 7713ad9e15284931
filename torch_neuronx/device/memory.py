"""Device memory: what is in use, and the limit.

The numbers are bytes of live device buffers. A tensor that was never written has none, and there
is no cache of freed ones: a buffer is given back when nothing uses it, so "reserved" always equals
"allocated". Until the device is opened everything reads 0.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch_neuronx import _C
from torch_neuronx.device.selection import Device, device_index


def empty_cache() -> None:
    """Does nothing: there is no cache of freed memory."""


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """The statistics of `memory_stats` by name, pool and metric."""
    return _C._memory_stats(device_index(device))


def memory_stats(device: Device = None) -> "OrderedDict[str, int]":
    """Statistics with the keys of torch.cuda.memory_stats, sorted.

    "{allocated_bytes,reserved_bytes,active_bytes,...}.{all,large_pool,small_pool}.{current,peak,
    allocated,freed}" in bytes, "{allocation,segment,active,...}..." in buffers, and the counters
    num_alloc_retries, num_ooms, num_device_alloc, num_device_free, num_sync_all_streams.
    """
    return OrderedDict(sorted(_flatten("", memory_stats_as_nested_dict(device))))


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, int]]:
    if not isinstance(value, dict):
        yield prefix, value
        return
    for key, item in value.items():
        yield from _flatten(f"{prefix}.{key}" if prefix else key, item)


def _bytes(device: Device, name: str, metric: str) -> int:
    return memory_stats_as_nested_dict(device)[name]["all"][metric]


def memory_allocated(device: Device = None) -> int:
    """Bytes in use now."""
    return _bytes(device, "allocated_bytes", "current")


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes in use at once since the start or `reset_peak_memory_stats`."""
    return _bytes(device, "allocated_bytes", "peak")


def memory_reserved(device: Device = None) -> int:
    """Bytes held from the device now: those in use."""
    return _bytes(device, "reserved_bytes", "current")


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes held at once since the start or `reset_peak_memory_stats`."""
    return _bytes(device, "reserved_bytes", "peak")


def reset_peak_memory_stats(device: Device = None) -> None:
    """Makes every peak the current value."""
    _C._reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Sets the totals "allocated" and "freed", and the counters, to 0."""
    _C._reset_accumulated_memory_stats(device_index(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) bytes of the device. Opens the device.

    Free is what is left below the limit of `set_per_process_memory_fraction`.
    """
    return _C._memory_info(device_index(device))


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Limits this process to `fraction`, from 0 to 1, of the device's memory. Opens the device.

    A program or tensor that would pass the limit raises torch.OutOfMemoryError.
    """
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = device_index(device)
    _C.client().set_memory_limit(int(fraction * _C._total_memory(index)), index)


def get_per_process_memory_fraction(device: Device = None) -> float:
    """The fraction of the device's memory that this process may use. Opens the device."""
    index = device_index(device)
    return _C.client().memory_limit(index) / _C._total_memory(index)


def memory_snapshot() -> list[dict[str, Any]]:
    """The device memory that tensors hold now: one segment of one block per storage.

    Keys as in torch.cuda.memory_snapshot; sizes in bytes, addresses are those of data_ptr().
    Tensors whose storages share one buffer are listed one by one.
    """
    return [_segment(*entry) for entry in _C._memory_in_use()]


def _segment(address: int, device: int, size: int) -> dict[str, Any]:
    block = {
        "address": address,
        "size": size,
        "requested_size": size,
        "state": "active_allocated",
        "frames": [],
    }
    return {
        "device": device,
        "address": address,
        "total_size": size,
        "allocated_size": size,
        "active_size": size,
        "requested_size": size,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": [block],
    }


_SUMMARY_ROWS = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("Reserved memory", "reserved_bytes", True),
    ("Allocations", "allocation", False),
    ("Active buffers", "active", False),
)


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """A table of the statistics, to print; `abbreviated` leaves out the counts."""
    index = device_index(device)
    stats = memory_stats_as_nested_dict(index)
    header = f"Memory of neuron:{index} (out of memory: {stats['num_ooms']} times)"
    lines = [header, f"{'':<18}{'now':>14}{'peak':>14}{'ever used':>14}{'ever freed':>14}"]
    for title, name, is_bytes in _SUMMARY_ROWS:
        if is_bytes or not abbreviated:
            cells = (_cell(value, is_bytes) for value in stats[name]["all"].values())
            lines.append(f"{title:<18}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines) + "\n"


def _cell(value: int, is_bytes: bool) -> str:
    if not is_bytes:
        return str(value)
    amount, units = float(value), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.{0 if units[0] == 'B' else 1}f} {units[0]}"
