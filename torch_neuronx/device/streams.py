"""Streams and events.

Programs are ordered by the tensors that they exchange, so work on two streams never needs
synchronizing for its results to be right. Streams and events tell when work has finished.
"""

from typing import Any

import torch

from torch_neuronx import _C
from torch_neuronx.device.selection import Device, device_index


class Stream(torch.Stream):
    """A stream of the device. `priority` is accepted and has no meaning here.

    Streams come from a pool of 32 per device, handed out in turn.
    """

    def __new__(cls, device: Device = None, priority: int = 0, **ids: int) -> "Stream":
        if ids:  # stream_id, device_index and device_type of an existing stream
            return super().__new__(cls, priority=priority, **ids)
        where = torch.device("neuron", device_index(device))
        return super().__new__(cls, where, priority=priority)

    def __repr__(self) -> str:
        return f"<torch.neuron.Stream device=neuron:{self.device_index} id={self.stream_id}>"


class _EventType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Event) and value.device.type == "neuron"


class Event(metaclass=_EventType):
    """A mark in a stream, reached when everything launched before it has finished.

    Making one gives a torch.Event of the device: torch's methods take no subclass of it.
    `elapsed_time(end)` is in milliseconds, between the moments at which two marks made with
    `enable_timing=True` were reached where the work ran; ValueError when one was not recorded,
    RuntimeError when one is not reached yet. Events cannot be shared between processes.
    """

    def __new__(  # type: ignore[misc]
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> torch.Event:
        if interprocess:
            raise NotImplementedError("Events of neuron devices cannot be shared by processes.")
        return torch.Event("neuron", enable_timing=enable_timing, blocking=blocking)


def _wrap(stream: torch.Stream) -> Stream:
    return Stream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )


def current_stream(device: Device = None) -> Stream:
    """This thread's current stream of the device. Opens the device."""
    return _wrap(torch.accelerator.current_stream(device_index(device)))


def default_stream(device: Device = None) -> Stream:
    """The stream that is current in every thread until another is set. Opens the device."""
    current = torch.accelerator.current_stream(device_index(device))
    return Stream(stream_id=0, device_index=current.device_index, device_type=current.device_type)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes `stream`, and its device, current in this thread; None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: `stream` and its device are current inside; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._device = torch.accelerator.current_device_index()
        self._previous = torch.accelerator.current_stream(self.stream.device_index)
        torch.accelerator.set_stream(self.stream)

    def __exit__(self, *error: Any) -> None:
        if self.stream is None:
            return
        torch.accelerator.set_stream(self._previous)
        torch.accelerator.set_device_index(self._device)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager that makes `stream` the current one."""
    return StreamContext(stream)


def synchronize(device: Device = None) -> None:
    """Waits for everything launched on the device, on any stream, by any thread.

    Raises the first error of a program that nothing else has reported yet.
    """
    _C._synchronize(device_index(device))
