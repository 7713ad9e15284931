"""One line on stderr for a compile that takes long, where somebody looks. Called by cache.py."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 2.0  # seconds before the line appears
_ERASE = "\r\x1b[2K"


@contextmanager
def progress(name: str) -> Iterator[None]:
    """Shows `name` and the seconds so far, and takes the line away at the end. Nothing where
    stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(name, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(name: str, done: threading.Event) -> None:
    start = time.perf_counter()
    wait, shown = _PATIENCE, False
    while not done.wait(wait):
        seconds = time.perf_counter() - start
        print(f"{_ERASE}compiling {name} for neuron: {seconds:.0f} s", end="", file=sys.stderr)
        sys.stderr.flush()
        wait, shown = 1.0, True
    if shown:
        print(_ERASE, end="", file=sys.stderr, flush=True)
