"""What a run found: JSON lines, one per case, of which the last one counts; and their summary."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .comparison import SEVERITY
from .ledger import Case, surprise

Results = dict[Case, dict[str, Any]]


def read(path: Path) -> Results:
    """A line that a killed run left unfinished is skipped."""
    found: Results = {}
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[Case(**record.pop("case"))] = record
    return found


def append(path: Path, case: Case, outcome: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps({"case": asdict(case), **outcome}) + "\n")


def table(results: Results) -> str:
    """Per mode: how many cases have each verdict; of those that pass, how many use the host."""
    modes = sorted({case.mode for case in results})
    rows = [("", *modes)]
    counts = Counter((case.mode, found["verdict"]) for case, found in results.items())
    for verdict in reversed(SEVERITY):
        rows.append((verdict, *(str(counts[mode, verdict]) for mode in modes)))
        if verdict == "passed":
            for what in ("host", "remarks"):
                rows.append((f"  with {what}", *(_with(what, results, mode) for mode in modes)))
    wide = 2 + max(map(len, modes), default=0)
    return "\n".join(
        f"{row[0]:24}" + "".join(f"{cell:>{wide}}" for cell in row[1:]) for row in rows
    )


def _with(what: str, results: Results, mode: str) -> str:
    """How many of those that pass ran on the host, or have remarks."""
    passed = [r for c, r in results.items() if c.mode == mode and r["verdict"] == "passed"]
    return str(sum(bool(r[what]) for r in passed))


def surprises(results: Results, differences: dict[Case, str], whole: bool = True) -> list[str]:
    """A line for each case that is not what the ledger says, gravest first."""
    lines = []
    for case, found in results.items():
        what = surprise(case, found["verdict"], differences, whole)
        if what:
            lines.append((SEVERITY.index(found["verdict"]), str(case.op), _line(case, what, found)))
    return [line for _, _, line in sorted(lines)]


def _line(case: Case, what: str, found: dict[str, Any]) -> str:
    detail = next((text for _, kind, text in found["failures"] if kind == found["verdict"]), "")
    share = f"{len(found['failures'])}/{found['samples']}"
    return f"{what:8} {case.op} {case.dtype} {case.mode} ({share} samples): {detail}"
