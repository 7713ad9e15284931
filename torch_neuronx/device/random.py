"""Random numbers: one default generator per device.

A generator is a seed and an offset, kept on the host; the numbers themselves are computed in the
programs. Nothing here opens the device, and a forked child may call all of it.

A state is a uint8 CPU tensor of 16 bytes, (seed, offset) as int64: CUDA's layout.
"""

from collections.abc import Iterable
from functools import cache

import torch

from torch_neuronx import _C
from torch_neuronx.device.selection import Device, device_index


@cache
def default_generators() -> tuple[torch.Generator, ...]:
    """The default generators by device index."""
    return tuple(_C._default_generator(i) for i in range(_C._device_count()))


def _generator(device: Device) -> torch.Generator:
    return default_generators()[device_index(device)]


def get_rng_state(device: Device = "neuron") -> torch.Tensor:
    """A copy of the generator's state."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state(new_state: torch.Tensor, device: Device = "neuron") -> None:
    """Sets the generator's state; RuntimeError or TypeError when it is not such a state."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices, in order."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator and sets its offset to 0."""
    _generator(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices alike; torch.manual_seed calls this."""
    for generator in default_generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device's generator at random."""
    _generator(None).seed()


def seed_all() -> None:
    """Seeds the generators of all devices with one random number."""
    if default_generators():
        manual_seed_all(default_generators()[0].seed())


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _generator(None).initial_seed()
