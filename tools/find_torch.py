"""Finds the torch installation to build against, without importing it.

Called by setup.py and build_backend.py. Importing torch would need its own dependencies,
which an isolated build environment does not have, and would cost seconds on every build.
"""

import importlib.util
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

SUPPORTED_TORCH = "torch>=2.13,<2.15"
DEFAULT_TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Torch:
    root: Path
    version: str  # "2.13.0+cpu"

    @property
    def release(self) -> str:
        """What the C++ interface is tied to: "2.13.0", whichever the variant."""
        return self.version.split("+")[0]


def _candidates():
    spec = importlib.util.find_spec("torch")
    if spec and spec.origin:
        yield Path(spec.origin).parent
    for kind in ("platlib", "purelib"):
        yield Path(sysconfig.get_path(kind)) / "torch"


def find_torch() -> Torch | None:
    """The importable torch, else the one in the interpreter's own site-packages."""
    for root in _candidates():
        version = root / "version.py"
        if version.is_file():
            found = re.search(r"__version__ = '([^']+)'", version.read_text())
            if found:
                return Torch(root, found[1])
    return None
