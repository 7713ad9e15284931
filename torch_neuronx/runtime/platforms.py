"""Platforms: which PJRT plugin runs the programs, and what it can do.

`resolve` finds the plugin's file and its client options without opening or importing anything;
the C++ runtime calls it before it opens its client. `platform` describes the client that is
open, with capabilities asked from the plugin and never assumed from its name.
"""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from torch_neuronx.runtime import config, plugin_file

Option = str | int | bool | float

# Platform -> (importable package, the plugin's file inside it), best first, and how to get one.
PLUGINS: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "cpu": (
        (("lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"),),
        "pip install lammps-jax-pjrt-cpu==0.11.2",
    ),
    "neuron": (
        (("libneuronxla", "libneuronpjrt.so"),),
        "install libneuronxla from the AWS Neuron repository",
    ),
    "cuda": (
        (
            ("jax_plugins", "xla_cuda13/xla_cuda_plugin.so"),
            ("jax_plugins", "xla_cuda12/xla_cuda_plugin.so"),
        ),
        "pip install jax-cuda13-pjrt (or jax-cuda12-pjrt)",
    ),
    "tpu": ((("libtpu", "libtpu.so"),), "pip install libtpu"),
}


@dataclass(frozen=True)
class Platform:
    """A plugin to open. `options` are the client's creation options."""

    name: str
    plugin_path: str
    options: dict[str, Option]


@dataclass(frozen=True)
class Capabilities:
    """What the open plugin can do, as it answered."""

    api_version: tuple[int, int]
    devices: int
    extensions: tuple[str, ...]
    ffi: bool
    kernels: bool
    serialization: bool
    float64: bool
    donation: bool


@dataclass(frozen=True)
class PlatformInfo:
    name: str
    path: str
    version: str
    capabilities: Capabilities

    def to_dict(self) -> dict:
        return asdict(self)


def device_count() -> int:
    """Devices that the environment asks for; the C++ runtime counts in the same way."""
    cores = config.VISIBLE_CORES.value()
    if cores is not None:
        return len(cores)
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return config.NUM_CORES.value() or (int(ranks) if ranks.isdigit() and int(ranks) else 1)


def resolve(name: str | None = None) -> Platform:
    """The platform that `name` or TORCH_NEURONX_PLATFORM asks for.

    Raises RuntimeError with one sentence when its plugin is not there, and ValueError for a
    malformed environment variable, whichever it is.
    """
    config.check()
    name = name or config.PLATFORM.value()
    if name not in PLUGINS:
        return Platform(Path(name).stem, _plugin_file(name), {})
    # The CPU client makes as many devices as it is told; the others have what they have.
    options: dict[str, Option] = {"cpu_device_count": device_count()} if name == "cpu" else {}
    return Platform(name, _find_plugin(name), options)


def _plugin_file(path: str) -> str:
    if "/" not in path and not os.path.exists(path):
        known = ", ".join(PLUGINS)
        raise RuntimeError(
            f"{config.PLATFORM.name}={path!r} is neither a platform ({known}) nor the path of a "
            "PJRT plugin."
        )
    plugin_file.check(path)
    return os.path.realpath(path)


def _find_plugin(name: str) -> str:
    packages, remedy = PLUGINS[name]
    for package, file in packages:
        for folder in _package_folders(package):
            if (folder / file).is_file():
                plugin_file.check(str(folder / file))
                return str(folder / file)
    raise RuntimeError(f"The plugin of platform {name!r} is not installed: {remedy}.")


def _package_folders(package: str) -> Iterator[Path]:
    # find_spec of a top-level name runs none of the package's code.
    spec = importlib.util.find_spec(package)
    yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())


def client() -> Any:
    """The process's client (torch_neuronx._C.Client); opens it when it is not open yet."""
    from torch_neuronx import _C

    return _C.client()


def runs_kernels() -> bool:
    """Whether the open platform's programs can call PyTorch's CPU kernels: its memory is the
    host's, and its FFI is of a version we know."""
    from torch_neuronx import _C

    return _C._runs_kernels()


def platform() -> PlatformInfo:
    """The open platform; opens it when it is not open yet."""
    opened = client()
    capabilities = Capabilities(
        api_version=tuple(opened.api_version),
        devices=opened.device_count,
        extensions=tuple(sorted(opened.extensions)),
        ffi="ffi" in opened.extensions,
        kernels=runs_kernels(),
        **_probe(),
    )
    return PlatformInfo(
        opened.platform_name, opened.plugin_path, opened.platform_version, capabilities
    )


@cache
def _probe() -> dict[str, bool]:
    """Compiles three one-line programs to see what the plugin accepts."""
    narrow, wide = (_identity(dtype) for dtype in ("f32", "f64"))
    donor = _identity("f32", " {tf.aliasing_output = 0 : i32}")
    return {
        "serialization": _accepts(narrow, serialize=True),
        "float64": _accepts(wide),
        "donation": _accepts(donor),
    }


def _identity(dtype: str, attributes: str = "") -> str:
    tensor = f"tensor<2x{dtype}>"
    body = f"%1 = stablehlo.add %0, %0 : {tensor}\n return %1 : {tensor}"
    return f"func.func public @main(%0: {tensor}{attributes}) -> {tensor} {{\n {body}\n}}"


def _accepts(program: str, serialize: bool = False) -> bool:
    from torch_neuronx.runtime.options import compile_options

    try:
        executable = client().compile(program.encode(), compile_options(0))
        return not serialize or bool(executable.serialize())
    except RuntimeError:
        return False
