"""Which architectures a sweep runs: those without a result, and what a change may concern."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch_neuronx.sweep.catalog import Architecture

_PACKAGE = Path(__file__).parents[1]
_SOURCES = (_PACKAGE, _PACKAGE.parent / "csrc")


def due(
    wanted: Iterable[Architecture],
    before: Mapping[str, dict[str, Any]],
    checks: Sequence[str],
    again: str | None = None,
    changed_since: str | None = None,
) -> list[Architecture]:
    """Those without a result of each of `checks`; with `again`, also those that did not pass, or
    all; with `changed_since`, also those whose result is older than the newest source file that
    changed since then."""
    changed = newest_change(changed_since) if changed_since else None

    def is_due(architecture: Architecture) -> bool:
        found = before.get(architecture.name)
        if found is None or again == "all" or (again == "failed" and found["failures"]):
            return True
        if found["checks"] and not set(checks).issubset(found["ran"]):
            return True  # what failed before its checks is not tried again unasked
        return changed is not None and datetime.datetime.fromisoformat(found["at"]) < changed

    return [architecture for architecture in wanted if is_due(architecture)]


def newest_change(since: str) -> datetime.datetime | None:
    """When the newest source file that changed since `since`, a date or a git revision, was
    written; None where none changed. ValueError where `since` is neither."""
    try:
        moment = datetime.datetime.fromisoformat(since).astimezone(datetime.UTC)
    except ValueError:
        files = _changed_since_revision(since)
        times = [_written(file) for file in files]
    else:
        times = [t for file in _sources() if (t := _written(file)) > moment]
    return max(times, default=None)


def _sources() -> list[Path]:
    ends = {".py", ".cpp", ".h", ".html"}
    return [p for folder in _SOURCES for p in folder.rglob("*") if p.suffix in ends]


def _written(file: Path) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(file.stat().st_mtime, datetime.UTC)


def _changed_since_revision(revision: str) -> list[Path]:
    root = _PACKAGE.parent
    command = ["git", "-C", str(root), "diff", "--name-only", revision, "--", *map(str, _SOURCES)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise ValueError(f"{revision!r} is neither a date nor a git revision of {root}.")
    return [file for line in found.stdout.splitlines() if (file := root / line).exists()]
