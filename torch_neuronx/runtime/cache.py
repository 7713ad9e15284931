"""The executable cache on disk, behind the C++ table of programs in memory.

Two levels. `lookup` finds a whole program by its call key, without tracing or importing jaxlib;
`compile` finds an executable by its StableHLO, and compiles only when there is none. An
executable's entry keeps the StableHLO beside it: from that it is made again when it is damaged or
its plugin refuses it. Nothing here can fail a call: an entry that cannot be trusted is recompiled,
a folder that cannot be written is left alone after one warning. A compile that fails is not cached.

Called by torch_neuronx.eager on a miss of the C++ table.
"""

import atexit
import contextlib
import functools
import threading
import time
import warnings
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_neuronx.runtime import (
    artifacts,
    config,
    descriptor,
    files,
    identity,
    metrics,
    platforms,
)
from torch_neuronx.runtime.options import compile_options
from torch_neuronx.runtime.progress import progress
from torch_neuronx.runtime.writer import Writer

_CALLS = "calls"  # kind of the entries: call key -> program
_EXECUTABLES = "executables"  # program key -> executable and StableHLO
_EVICT_EVERY = 64 * 1024**2  # bytes that this process writes between two looks at the size

_writer = Writer()
_unreported: list[str] = []  # warnings of the writer thread
# Executables alive in this process by program key and device: two calls with one program share it.
_alive: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()
# One thread compiles a program while others that want the same one wait for it.
_locks = [threading.Lock() for _ in range(64)]


@dataclass(frozen=True)
class CacheInfo:
    """What is kept. Sizes in bytes; `requests` counts compiles by the tier that answered."""

    directory: str
    enabled: bool
    programs_in_memory: int
    programs_on_disk: int
    executables_on_disk: int
    bytes_on_disk: int
    limit: int
    requests: dict[str, int]


def lookup(
    call_key: bytes, op_name: str, call: Any = None, facts: metrics.GraphFacts | None = None
) -> Any | None:
    """The program of an operator call seen by an earlier process, or None.

    `call` (torch_neuronx.eager.call.Call), and `facts` of a graph, are kept for explain().
    """
    if config.NEFF_DISABLE_CACHE.value():
        return None
    start = time.perf_counter()
    key = identity.call_key(call_key, op_name, _plugin())
    loaded = _Loaded(_device(call))
    try:
        text = _folder().read(_CALLS, key, "program")
        program = None if text is None else descriptor.decode(text, loaded.load)
    except (files.Damaged, ValueError, KeyError, TypeError, AttributeError):
        _folder().remove(_CALLS, key)
        return None
    if program is not None and loaded.tier:
        seconds = time.perf_counter() - start
        metrics.record(op_name, loaded.tier, seconds, loaded.size, call, facts)
    return program


def store(
    call_key: bytes, op_name: str, program: Any, portable: bytes | None, quick: bool = False
) -> None:
    """Keeps the program of an operator call; `portable` is its StableHLO, None without one, and
    `quick` as it was compiled."""
    if config.NEFF_DISABLE_CACHE.value():
        return
    plugin = _plugin()
    key = identity.call_key(call_key, op_name, plugin)
    executable_key = identity.program_key(portable, plugin, quick) if portable else None
    try:
        text = descriptor.encode(program, executable_key)
    except TypeError:
        return  # it returns a Python object of this process
    _write(_folder(), _CALLS, key, {"program": text})


def compile(
    portable: bytes,
    name: str,
    *,
    quick: bool = False,
    call: Any = None,
    graph: Any = None,
    facts: metrics.GraphFacts | None = None,
) -> Any:
    """The executable of a StableHLO portable artifact. Raises what the compiler raises, with
    `name` (the op or graph) in the message. `quick` is for programs of few elements (see options).
    `graph` is kept with the debugging artifacts.
    """
    start = time.perf_counter()
    key = identity.program_key(portable, _plugin(), quick)
    loaded = _Loaded(_device(call), quick)
    with _locks[int(key[:2], 16) % len(_locks)]:
        executable = loaded.find(key) or loaded.compile(key, portable, name)
    seconds = time.perf_counter() - start
    metrics.record(name, loaded.tier, seconds, loaded.size, call, facts)
    artifacts.keep(name, portable, executable, graph)
    return executable


def entries(call_key: bytes, op_name: str) -> dict[tuple[str, str], bytes]:
    """What the disk has of a call, by kind and key: its program, and the executable of that."""
    if config.NEFF_DISABLE_CACHE.value():
        return {}
    flush()
    found = {}
    key = identity.call_key(call_key, op_name, _plugin())
    with contextlib.suppress(files.Damaged, OSError, ValueError):
        packed = _folder().packed(_CALLS, key)
        executable = descriptor.executable_key(files.unpack(_CALLS, key, packed, "program"))
        found[_CALLS, key] = packed
        if executable is not None:
            found[_EXECUTABLES, executable] = _folder().packed(_EXECUTABLES, executable)
    return found


def put(kind: str, key: str, packed: bytes) -> None:
    """Keeps an entry that `entries` gave, in this process or another."""
    if not config.NEFF_DISABLE_CACHE.value():
        _folder().put(kind, key, packed)


def _device(call: Any) -> int:
    return 0 if call is None else call.device


class _Loaded:
    """One executable on its way to a device: whence it came (`tier`) and its size in bytes."""

    def __init__(self, device: int, quick: bool = False) -> None:
        self.device = device
        self.quick = quick
        self.tier = ""
        self.size = 0

    def load(self, key: str) -> Any | None:
        with _locks[int(key[:2], 16) % len(_locks)]:
            return self.find(key)

    def find(self, key: str) -> Any | None:
        """From this process or from disk; the caller holds the key's lock."""
        executable = _alive.get((key, self.device))
        if executable is not None:
            self.tier, self.size = "memory", executable.code_bytes
        elif not config.NEFF_DISABLE_CACHE.value():
            executable = self._read(key)
        return executable

    def _read(self, key: str) -> Any | None:
        try:
            data = _folder().read(_EXECUTABLES, key, "executable")
            if data is None:
                return None
            executable = platforms.client().deserialize(data, compile_options(self.device))
        except (files.Damaged, RuntimeError):
            return self._restore(key)
        self.tier, self.size = "disk", len(data)
        _alive[key, self.device] = executable
        return executable

    def _restore(self, key: str) -> Any | None:
        """Compiles again from the StableHLO beside an executable that is of no use."""
        try:
            portable = _folder().read(_EXECUTABLES, key, "stablehlo")
        except files.Damaged:
            portable = None
        _folder().remove(_EXECUTABLES, key)
        if portable is None:
            return None
        try:
            return self.compile(key, portable, "a cached program")
        except RuntimeError:
            return None  # the caller lowers the call again, and reports by its name

    def compile(self, key: str, portable: bytes, name: str) -> Any:
        try:
            with progress(name):
                executable = platforms.client().compile(
                    portable, compile_options(self.device, self.quick)
                )
        except RuntimeError as error:
            raise type(error)(f"Compiling {name} for neuron failed: {error}") from error
        self.tier, self.size = "compiled", executable.code_bytes
        if not config.NEFF_DISABLE_CACHE.value():
            # Now, not in the writer's thread: XLA:CPU cannot serialize a sort that has run once.
            with contextlib.suppress(RuntimeError, NotImplementedError):
                sections = {"executable": executable.serialize(), "stablehlo": portable}
                _write(_folder(), _EXECUTABLES, key, sections)
        _alive[key, self.device] = executable
        return executable


@functools.cache
def _plugin() -> str:
    return platforms.client().plugin_path


@functools.cache
def _folder_at(root: Path) -> files.Folder:
    return files.Folder(root)


def _folder() -> files.Folder:
    # A folder of our own, so that clearing and evicting touch no file but ours.
    return _folder_at(config.cache_dir() / "neuron-cache-1")


class _Upkeep:
    """What the writer thread knows of one folder. Touched by that thread alone."""

    def __init__(self) -> None:
        self.refused = False  # a write failed: no more are tried
        self.since_eviction = _EVICT_EVERY  # bytes; so that the first write looks at the size


@functools.cache
def _upkeep(folder: files.Folder) -> _Upkeep:
    return _Upkeep()


def _write(folder: files.Folder, kind: str, key: str, entry: dict[str, bytes]) -> None:
    _report()
    limit = config.CACHE_SIZE.value()
    _writer.submit(functools.partial(_write_now, folder, kind, key, entry, limit))


def _write_now(
    folder: files.Folder, kind: str, key: str, entry: dict[str, bytes], limit: int
) -> None:
    upkeep = _upkeep(folder)
    if upkeep.refused:
        return
    try:
        upkeep.since_eviction += folder.write(kind, key, entry)
        if upkeep.since_eviction >= min(_EVICT_EVERY, limit // 20):
            upkeep.since_eviction = 0
            folder.evict(limit)
    except OSError as error:
        upkeep.refused = True
        _unreported.append(
            f"The executable cache at {folder.root} cannot be written ({error}); the next "
            "process compiles again."
        )


def _report() -> None:
    """Warns of what the writer met. Not there: filters of warnings belong to no thread, so that one
    which another thread sets for a moment would swallow it.
    """
    while _unreported:
        warnings.warn(_unreported.pop(), stacklevel=3)


@atexit.register
def flush() -> None:
    """Waits until everything compiled so far is on disk."""
    _writer.flush()
    _report()


def cache_info() -> CacheInfo:
    """What the executable cache holds, in memory and on disk."""
    from torch_neuronx import _C

    flush()
    usage = _folder().usage()
    return CacheInfo(
        directory=str(_folder().root),
        enabled=not config.NEFF_DISABLE_CACHE.value(),
        programs_in_memory=_C.program_count(),
        programs_on_disk=usage.get(_CALLS, (0, 0))[0],
        executables_on_disk=usage.get(_EXECUTABLES, (0, 0))[0],
        bytes_on_disk=sum(size for _, size in usage.values()),
        limit=config.CACHE_SIZE.value(),
        requests=metrics.requests(),
    )


def clear_cache() -> None:
    """Forgets every program, in memory and on disk."""
    from torch_neuronx import _C

    flush()
    _folder().clear()
    _alive.clear()
    _C.clear_programs()
