"""An accelerator and a strategy for each of Lightning's packages, in the registries they offer.

Lightning exists as `lightning.pytorch`, `lightning.fabric` and `pytorch_lightning`, each with base
classes and registries of its own; the classes are therefore made for the package they are asked
for. The strategy is needed beside the accelerator because Lightning gives a single device of a
registered accelerator the strategy of the CPU, and autocast of CUDA.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch

from torch_neuronx import device as neuron


def register(package: str) -> tuple[type, type]:
    """The accelerator's and the strategy's class for `package`, registered there as "neuron"."""
    accelerators = importlib.import_module(f"{package}.accelerators")
    strategies = importlib.import_module(f"{package}.strategies")
    accelerator = _accelerator(accelerators.Accelerator)
    strategy = _strategy(package, strategies.SingleDeviceStrategy, accelerator)
    # Fabric writes the name of its registry in capitals.
    fabric = hasattr(accelerators, "ACCELERATOR_REGISTRY")
    known = accelerators.ACCELERATOR_REGISTRY if fabric else accelerators.AcceleratorRegistry
    known.register("neuron", accelerator, description="a core of the neuron device", override=True)
    known = strategies.STRATEGY_REGISTRY if fabric else strategies.StrategyRegistry
    known.register("neuron", strategy, description="one core of the neuron device", override=True)
    return accelerator, strategy


def _accelerator(base: Any) -> type:
    class NeuronAccelerator(base):
        """One core of the neuron device."""

        def setup_device(self, device: torch.device) -> None:
            """Makes `device` the current one. ValueError unless it is a neuron device."""
            if device.type != "neuron":
                raise ValueError(
                    f"Lightning chose the device {device} for the accelerator 'neuron'; pass "
                    "strategy='neuron' as well."
                )
            neuron.set_device(device)

        def teardown(self) -> None:
            neuron.empty_cache()

        def get_device_stats(self, device: torch.device | str | int) -> dict[str, Any]:
            """PyTorch's memory statistics of `device`, in bytes."""
            return neuron.memory_stats(device)

        @staticmethod
        def parse_devices(devices: int | str | Sequence[int]) -> list[int]:
            """The number of the core to run on: of [1] core 1, of 1, "1" and "auto" core 0."""
            if isinstance(devices, str):
                devices = 1 if devices in ("auto", "-1") else int(devices)
            chosen = list(range(devices)) if isinstance(devices, int) else list(devices)
            if len(chosen) != 1:
                raise ValueError(
                    f"devices={devices!r} asks for {len(chosen)} neuron cores; the accelerator "
                    "'neuron' runs on one: pass devices=1, or devices=[i] for core i."
                )
            return chosen

        @staticmethod
        def get_parallel_devices(devices: list[int]) -> list[torch.device]:
            return [torch.device("neuron", index) for index in devices]

        @staticmethod
        def auto_device_count() -> int:
            """What devices="auto" means: one core."""
            return 1

        @staticmethod
        def is_available() -> bool:
            return neuron.is_available()

        @staticmethod
        def name() -> str:
            return "neuron"

    return NeuronAccelerator


def _strategy(package: str, base: Any, accelerator: type) -> type:
    plugins = importlib.import_module(f"{package}.plugins")
    # Fabric calls the plugin of a strategy `precision`, the Trainer `precision_plugin`.
    attribute = "precision" if hasattr(base, "precision") else "precision_plugin"

    class NeuronStrategy(base):
        """A model on one core. As an instance it brings the accelerator with it."""

        strategy_name = "neuron"

        def __init__(self, device: torch.device | str = "neuron", **options: Any) -> None:
            super().__init__(device=device, **{"accelerator": accelerator(), **options})

        @property
        def parallel_devices(self) -> list[torch.device] | None:
            """None before Lightning has said which core was asked for, by `devices`."""
            return None

        @parallel_devices.setter
        def parallel_devices(self, devices: list[torch.device] | None) -> None:
            if devices:
                self._root_device = devices[0]

        @classmethod
        def register_strategies(cls, registry: Any) -> None:
            """Nothing: `register` has done it."""

    def get(self: Any) -> Any:
        return getattr(base, attribute).fget(self)

    def put(self: Any, plugin: Any) -> None:
        if isinstance(plugin, plugins.MixedPrecision) and plugin.device != "neuron":
            plugin = plugins.MixedPrecision(plugin.precision, "neuron")
        getattr(base, attribute).fset(self, plugin)

    setattr(NeuronStrategy, attribute, property(get, put))
    return NeuronStrategy
