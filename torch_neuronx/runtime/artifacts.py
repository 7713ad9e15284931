"""Files for a person who wants to see what was compiled; nothing reads them back.

TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS=1 keeps, for each program that this process compiles or
loads by its StableHLO, a folder with the FX graph, the StableHLO as text and as it was compiled,
and the executable. Called by cache.py.
"""

import contextlib
import os
import re
import warnings
from itertools import count
from pathlib import Path
from typing import Any

from torch_neuronx.runtime import config

_sequence = count(1)


def keep(name: str, portable: bytes, executable: Any, graph: Any) -> None:
    root = config.debug_dir()
    if root is None:
        return
    word = re.sub(r"[^\w.]+", "_", name)
    folder = root / f"{os.getpid()}-{next(_sequence):05d}-{word}"
    try:
        _keep(folder, portable, executable, graph)
    except OSError as error:
        warnings.warn(f"No compilation artifacts in {folder}: {error}", stacklevel=2)


def _keep(folder: Path, portable: bytes, executable: Any, graph: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if graph is not None:
        (folder / "graph.txt").write_text(str(graph))
    (folder / "program.mlirbc").write_bytes(portable)
    (folder / "program.mlir").write_text(_stablehlo_text(portable))
    with contextlib.suppress(RuntimeError, NotImplementedError):  # not every one can be written
        (folder / "executable.bin").write_bytes(executable.serialize())


def _stablehlo_text(portable: bytes) -> str:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with ir.Context() as context:
        stablehlo.register_dialect(context)
        return str(stablehlo.deserialize_portable_artifact(context, portable))
