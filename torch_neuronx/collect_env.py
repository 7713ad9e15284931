"""``python -m torch_neuronx.collect_env``: everything a bug report needs, and one verdict.

Prints versions, the plugin and its capabilities, devices, the state of the cache and the
environment variables in force, then whether torch can use the device. The exit code is 0 only when
it can. Nothing else calls this.
"""

import importlib.metadata
import platform as host
import sys
import warnings
from collections.abc import Callable, Iterator

from torch_neuronx.runtime import config, platforms

_PACKAGES = ("torch-neuronx", "torch", "jaxlib", "lammps-jax-pjrt-cpu", "numpy")

Line = tuple[str, str]


def _versions() -> Iterator[Line]:
    yield "python", f"{host.python_version()} on {host.platform()}"
    for package in _PACKAGES:
        try:
            yield package, importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            yield package, "not installed"
    from torch_neuronx._build_info import TORCH_VERSION

    yield "built against", f"torch {TORCH_VERSION}"


def _platform() -> Iterator[Line]:
    chosen = platforms.resolve()
    yield "platform", chosen.name
    yield "plugin", chosen.plugin_path
    opened = platforms.platform()
    yield "plugin says", f"{opened.name} {opened.version}".strip()
    for name, value in vars(opened.capabilities).items():
        yield f"  {name}", _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _devices() -> Iterator[Line]:
    from torch_neuronx import device

    for index in range(device.device_count()):
        found = device.get_device_properties(index)
        yield f"neuron:{index}", f"{found.name}, {found.total_memory / 2**30:.1f} GiB"
    yield "flex_attention", "after torch_neuronx.enable_flex_attention()"


def _cache() -> Iterator[Line]:
    from torch_neuronx.runtime.cache import cache_info

    for name, value in vars(cache_info()).items():
        yield name.replace("_", " "), _plain(value)


def _environment() -> Iterator[Line]:
    yield from config.in_force().items()
    for name in config.unknown():
        yield name, "set, but not a variable of this backend"


_SECTIONS: dict[str, Callable[[], Iterator[Line]]] = {
    "Versions": _versions,
    "Platform": _platform,
    "Devices": _devices,
    "Executable cache": _cache,
    "Environment": _environment,
}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _print_section(title: str, lines: Callable[[], Iterator[Line]]) -> None:
    """A part that fails says why, and the next one is printed all the same."""
    print(title)
    try:
        for name, value in lines():
            print(f"  {name:<22} {value}")
    except Exception as error:
        print(f"  {'error':<22} {_one_line(error)}")


def _why_unusable() -> str:
    """Runs a small program on the device; empty when its result is right."""
    import torch

    try:
        given = torch.arange(6.0)
        result = (given.to("neuron").view(2, 3) @ torch.ones(3, 1, device="neuron")).cpu()
    except Exception as error:
        return _one_line(error)
    expected = torch.tensor([[3.0], [12.0]])
    return "" if torch.equal(result, expected) else f"a product came out as {result.tolist()}"


def main() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, lines in _SECTIONS.items():
            _print_section(title, lines)
        reason = _why_unusable()
    if reason:
        print(f"The neuron device is not usable by torch: {reason}")
        return 1
    print("The neuron device is usable by torch.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
