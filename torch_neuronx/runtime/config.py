"""Every environment variable that the backend reads, declared once as data.

The page docs/environment.md and the list in collect_env are made from VARIABLES:
``python -m torch_neuronx.runtime.config`` prints the page. A value is read when it is asked for,
so that tests and programs may set variables after import; a value that does not parse raises
a ValueError that names the variable. Called by every other module that has a setting.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MAX_CORES = 127  # c10::DeviceIndex is a signed byte


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How a variable's text becomes a value; `parse` raises ValueError on anything else."""

    name: str
    expects: str
    parse: Callable[[str], T]


@dataclass(frozen=True)
class Variable(Generic[T]):
    name: str
    kind: Kind[Any]
    default: T  # may be what no text gives, such as None
    default_text: str
    meaning: str

    def value(self) -> T:
        """The value in force; an empty variable counts as unset."""
        text = os.environ.get(self.name, "")
        if not text:
            return self.default
        try:
            return self.kind.parse(text)
        except ValueError:
            raise ValueError(
                f"{self.name}={text!r} is not valid: expected {self.kind.expects}."
            ) from None


def _parse_flag(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError(text)
    return known[text.lower()]


def _parse_count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(text)
    return int(text)


def _parse_positive(text: str) -> int:
    count = _parse_count(text)
    if not 0 < count <= MAX_CORES:
        raise ValueError(text)
    return count


def _parse_cores(text: str) -> tuple[int, ...]:
    cores: set[int] = set()
    for item in text.split(","):
        first, dash, last = item.partition("-")
        span = range(_parse_count(first), _parse_count(last if dash else first) + 1)
        if not 0 < len(span) <= MAX_CORES:
            raise ValueError(text)
        cores.update(span)
    return tuple(sorted(cores))


def _parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?)B?|B)?", text, re.IGNORECASE)
    if not found:
        raise ValueError(text)
    number, prefix, binary = found.groups()
    power = " KMGT".index(prefix.upper()) if prefix else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


FLAG = Kind("bool", "1 or 0", _parse_flag)
COUNT = Kind("count", "a whole number that is not negative", _parse_count)
POSITIVE = Kind("count", f"a number of cores from 1 to {MAX_CORES}", _parse_positive)
CORES = Kind("cores", "core numbers such as 0, 0-3 or 1,3", _parse_cores)
SIZE = Kind("size", "a number of bytes such as 4GiB, 512MB or 1000000", _parse_size)
TEXT = Kind[Any]("text", "a name or a path", str)
FOLDER = Kind[Any]("folder", "a path", lambda text: Path(text).expanduser())

PLATFORM = Variable(
    "TORCH_NEURONX_PLATFORM",
    TEXT,
    "cpu",
    "cpu",
    "What runs the programs: cpu, neuron, cuda, tpu, or a path to a PJRT plugin.",
)
VISIBLE_CORES: Variable[tuple[int, ...] | None] = Variable(
    "NEURON_RT_VISIBLE_CORES",
    CORES,
    None,
    "unset",
    "The cores that this process uses, renumbered from 0. On the cpu platform only their number "
    "counts.",
)
NUM_CORES: Variable[int | None] = Variable(
    "NEURON_RT_NUM_CORES",
    POSITIVE,
    None,
    "unset",
    "How many cores this process uses; NEURON_RT_VISIBLE_CORES wins. With neither there is one "
    "per rank of torchrun, else one.",
)
LAUNCH_BLOCKING = Variable(
    "NEURON_LAUNCH_BLOCKING",
    FLAG,
    False,
    "0",
    "1: every launch waits for its program, so that a failure surfaces at the call that made it.",
)
FILL_UNINITIALIZED_MEMORY = Variable(
    "TORCH_NEURONX_FILL_UNINITIALIZED_MEMORY",
    FLAG,
    False,
    "0",
    "1: torch.empty and resize_ fill what they make, as under torch.use_deterministic_algorithms: "
    "NaN, the largest value of an integer type, True. 0: it reads as zeros.",
)
FALLBACK_ENABLED = Variable(
    "NEURON_FALLBACK_ENABLED",
    FLAG,
    True,
    "1",
    "0: an op that would run on the host raises instead, naming the op and the reason.",
)
FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS = Variable(
    "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS",
    FLAG,
    False,
    "0",
    "1: only ops without a program run on the host; the failure of an implemented op raises.",
)
DISABLE_FALLBACK_EXECUTION = Variable(
    "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION",
    FLAG,
    True,
    "1",
    "torch.compile: a graph that has no program raises; 0: it runs eagerly, with a warning. The "
    "option fallback_execution of torch.compile wins.",
)
ENABLE_CONCATENATION = Variable(
    "TORCH_NEURONX_ENABLE_CONCATENATION",
    FLAG,
    False,
    "0",
    "1: adaptive eager (not in this release), which fuses runs of eager ops.",
)
MODEL_CACHE_SIZE = Variable(
    "NEURON_EAGER_MODEL_CACHE_SIZE",
    COUNT,
    16384,
    "16384",
    "How many compiled programs are kept in memory, least recently used first out; 0: all.",
)
NEFF_CACHE_DIR = Variable(
    "TORCH_NEURONX_NEFF_CACHE_DIR",
    FOLDER,
    None,
    "$XDG_CACHE_HOME/torch_neuronx, else ~/.cache/torch_neuronx",
    "The folder of the executable cache; many processes and machines may share it.",
)
NEFF_DISABLE_CACHE = Variable(
    "TORCH_NEURONX_NEFF_DISABLE_CACHE",
    FLAG,
    False,
    "0",
    "1: executables are neither read from disk nor written to it.",
)
CACHE_SIZE = Variable(
    "TORCH_NEURONX_CACHE_SIZE",
    SIZE,
    10 * 1024**3,
    "10GiB",
    "Size limit of the cache folder; the least recently used executables go first.",
)
DEBUG_DIR = Variable(
    "TORCH_NEURONX_DEBUG_DIR",
    FOLDER,
    None,
    "the folder debug in the cache folder",
    "Where TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS puts its files.",
)
PRESERVE_COMPILATION_ARTIFACTS = Variable(
    "TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS",
    FLAG,
    False,
    "0",
    "1: the FX graph, the StableHLO and the executable of each compile are kept in "
    "TORCH_NEURONX_DEBUG_DIR.",
)

VARIABLES: tuple[Variable[Any], ...] = (
    PLATFORM,
    VISIBLE_CORES,
    NUM_CORES,
    LAUNCH_BLOCKING,
    FILL_UNINITIALIZED_MEMORY,
    FALLBACK_ENABLED,
    FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS,
    DISABLE_FALLBACK_EXECUTION,
    ENABLE_CONCATENATION,
    MODEL_CACHE_SIZE,
    NEFF_CACHE_DIR,
    NEFF_DISABLE_CACHE,
    CACHE_SIZE,
    DEBUG_DIR,
    PRESERVE_COMPILATION_ARTIFACTS,
)


def check() -> None:
    """Raises ValueError for the first variable whose value does not parse."""
    for variable in VARIABLES:
        variable.value()


def cache_dir() -> Path:
    """The executable cache's folder: the variable's, else the user's cache folder."""
    chosen = NEFF_CACHE_DIR.value()
    if chosen is None:
        home = os.environ.get("XDG_CACHE_HOME")
        chosen = (Path(home) if home else Path.home() / ".cache") / "torch_neuronx"
    return chosen


def debug_dir() -> Path | None:
    """Where compilation artifacts are kept, None when they are not."""
    if not PRESERVE_COMPILATION_ARTIFACTS.value():
        return None
    return DEBUG_DIR.value() or cache_dir() / "debug"


def in_force() -> dict[str, str]:
    """The declared variables that the environment sets, as they are set."""
    return {v.name: os.environ[v.name] for v in VARIABLES if os.environ.get(v.name)}


def unknown() -> list[str]:
    """Variables with our prefix that nothing reads: most likely spelling mistakes."""
    known = {v.name for v in VARIABLES}
    return sorted(k for k in os.environ if k.startswith("TORCH_NEURONX_") and k not in known)


def markdown() -> str:
    rows = [f"| `{v.name}` | {v.kind.name} | {v.default_text} | {v.meaning} |" for v in VARIABLES]
    head = (
        "# Environment variables\n\n"
        "Made by `make docs` from `torch_neuronx/runtime/config.py`: change it there.\n\n"
        "A flag is `1` or `0` (also true/false, yes/no, on/off). An empty variable counts as "
        "unset.\nA value that does not parse is an error that names the variable.\n\n"
        "| variable | type | default | meaning |\n|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
