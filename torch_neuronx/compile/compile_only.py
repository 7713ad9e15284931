"""Warm-up without running: programs are compiled and kept, none is launched. Public as
torch_neuronx.compile_only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch_neuronx import _C

_depth = 0


@contextmanager
def compile_only() -> Iterator[None]:
    """Within it (as a context manager or a decorator), ops and compiled graphs make their programs,
    into memory and the disk cache, but run none, in all threads.

    A new tensor has shape, dtype and strides but no contents: it reads as zeros on the host and
    raises RuntimeError when something is computed from it outside. Tensors that are written to
    (parameters, optimizer states, caches) keep their values; uploads happen. An op that runs on the
    host (see get_fallback_ops) does run.
    """
    global _depth
    _depth += 1
    _C.set_compile_only(True)
    try:
        yield
    finally:
        _depth -= 1
        _C.set_compile_only(_depth > 0)
