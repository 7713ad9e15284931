"""Devices: how many there are, which one is current, and when the runtime is opened."""

from typing import Any

import torch

from torch_neuronx import _C

Device = int | str | torch.device | None


def device_index(device: Device) -> int:
    """The index that a `device` argument means. Opens nothing.

    Raises ValueError for another device type and RuntimeError for an index that does not exist.
    """
    if device is None:
        return _C._current_device()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "neuron":
            raise ValueError(f"Expected a neuron device, but got: {device}")
        device = -1 if device.index is None else device.index
    return _C._check_device(int(device))


def is_available() -> bool:
    """Whether there is a device and the platform's PJRT plugin is installed.

    Never raises and opens nothing, so it is safe before a fork.
    """
    if _C._is_initialized():  # torch.compile asks dozens of times for each graph
        return True
    from torch_neuronx.runtime import platforms

    try:
        return device_count() > 0 and bool(platforms.resolve().plugin_path)
    except (RuntimeError, ValueError):
        return False


def device_count() -> int:
    """Devices that this process may use: the cores of NEURON_RT_VISIBLE_CORES, else
    NEURON_RT_NUM_CORES, else one per local rank of torchrun, else 1.

    Never raises: a malformed variable counts 0, and opening the device names it.
    """
    return _C._device_count()


def is_initialized() -> bool:
    """Whether the PJRT plugin has been opened in this process."""
    return _C._is_initialized()


def init() -> None:
    """Opens the PJRT plugin; the first tensor does it too.

    Raises RuntimeError when it cannot be opened, and in a process forked after it was; ValueError
    for a malformed environment variable.
    """
    _C.client()


_lazy_init = init


def _is_in_bad_fork() -> bool:
    return _C._in_bad_fork()


def current_device() -> int:
    """Index of this thread's current device; at first that of LOCAL_RANK where there is one."""
    return _C._current_device()


def set_device(device: Device) -> None:
    """Makes `device` this thread's current one; a negative index changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    _C._set_device(device_index(device))


def _exchange_device(device: int) -> int:
    """Sets the current device and returns the previous one; a negative index sets nothing."""
    return _C._exchange_device(device)


_maybe_exchange_device = _exchange_device


class device:
    """Context manager: `device` is current inside; None or a negative index changes nothing."""

    def __init__(self, device: Device) -> None:
        negative = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if negative else device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(self, *error: Any) -> None:
        _exchange_device(self.prev_idx)
