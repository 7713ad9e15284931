"""What an executable depends on, as the hashes that the cache files it under.

Two keys. `program_key` is that of one StableHLO program: the program, the compile options, the
plugin and the machine, which together determine the executable. `call_key` is that of one
operator call, found without tracing: to those it adds whatever decides which program the call
becomes (our lowering, torch, jaxlib). Used by cache.py alone.
"""

import hashlib
import importlib.metadata
import os
import platform as host
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import torch

from torch_neuronx.runtime.options import compile_options

# Environment variables that compilers of the known plugins read.
COMPILER_VARIABLES = ("XLA_FLAGS", "NEURON_CC_FLAGS", "LIBTPU_INIT_ARGS")

_SAMPLES = 64  # blocks read from a plugin, which may have hundreds of megabytes
_BLOCK = 4096


def _digest(parts: Iterable[bytes], size: int = 20) -> str:
    """A hash over parts, each with its length, so that none can run into the next."""
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def program_key(portable: bytes, plugin: str, quick: bool = False) -> str:
    """The key of a StableHLO program compiled, quickly or not, by the plugin at path `plugin`."""
    way = b"quick" if quick else b""
    return _digest([portable, compile_options(0), way, _environment(plugin)])


def call_key(key: bytes, op_name: str, plugin: str) -> str:
    """The key of an operator call whose in-memory key is `key`."""
    parts = [key, op_name.encode(), compile_options(0), _environment(plugin), _lowering()]
    return _digest(parts)


@cache
def _environment(plugin: str) -> bytes:
    variables = [os.environ.get(name, "") for name in COMPILER_VARIABLES]
    return _digest(map(str.encode, [_plugin(plugin), _machine(), *variables])).encode()


def _plugin(path: str) -> str:
    """Size and a sample of the contents; not the date, which differs between machines."""
    file = Path(path)
    size = file.stat().st_size
    step = max(size // _SAMPLES, _BLOCK)
    with file.open("rb", buffering=0) as handle:
        blocks = [os.pread(handle.fileno(), _BLOCK, at) for at in range(0, size, step)]
    return _digest([str(size).encode(), *blocks])


def _machine() -> str:
    """Architecture and instruction sets: the CPU plugins' executables are machine code."""
    flags = ""
    try:
        with open("/proc/cpuinfo") as info:
            flags = next((line for line in info if line.startswith(("flags", "Features"))), "")
    except OSError:
        flags = host.processor()
    return f"{host.system()} {host.machine()} {' '.join(sorted(flags.split()))}"


@cache
def _lowering() -> bytes:
    """Contents of the sources that turn a call into a program, and the libraries they use.

    The core's sources are among them: it makes the keys of calls and reads the programs."""
    from torch_neuronx._build_info import CORE_SOURCES

    package = Path(__file__).parent.parent
    files = [
        f for d in ("lowering", "eager", "compile", "sparse") for f in package.glob(f"{d}/**/*.py")
    ]
    files.append(Path(__file__).with_name("descriptor.py"))
    versions = [CORE_SOURCES, torch.__version__, importlib.metadata.version("jaxlib")]
    return _digest([*map(str.encode, versions), *(f.read_bytes() for f in sorted(files))]).encode()
