"""What the last full run found, kept in the repository: docs/coverage.md is made from it.

    python -m contract.summary build/contract/results.jsonl

writes `last_run.json`: database -> operator -> mode -> verdict -> the dtypes it was given for; and
under "host", dtype -> the ATen ops that ran there. "cost": database -> mode -> the samples that
were run, and the seconds that the workers spent on them.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from . import results

LAST_RUN = Path(__file__).with_name("last_run.json")
Verdicts = dict[str, Any]
Found = dict[str, dict[str, Verdicts]]  # by operator and mode


@dataclass
class Cost:
    samples: int = 0
    seconds: float = 0.0

    def add(self, outcome: dict[str, Any]) -> None:
        self.samples += outcome["samples"]
        self.seconds = round(self.seconds + outcome.get("seconds", 0.0), 3)


def summary(found: results.Results) -> dict[str, Any]:
    databases: dict[str, Found] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    cost: dict[str, dict[str, Cost]] = defaultdict(lambda: defaultdict(Cost))
    for case, outcome in found.items():
        verdicts = databases[case.database][case.op][case.mode]
        verdicts.setdefault(outcome["verdict"], []).append(case.dtype)
        if outcome["host"]:
            verdicts.setdefault("host", {})[case.dtype] = sorted(outcome["host"])
        cost[case.database][case.mode].add(outcome)
    return {
        "torch": torch.__version__.partition("+")[0],
        "cost": {
            name: {mode: asdict(c) for mode, c in modes.items()} for name, modes in cost.items()
        },
        "databases": databases,
    }


def read(path: Path = LAST_RUN) -> dict[str, Any]:
    return json.loads(path.read_text())


def main() -> None:
    found = results.read(Path(sys.argv[1]))
    LAST_RUN.write_text(_text(summary(found)))


def _text(run: dict[str, Any]) -> str:
    """JSON with a line for each operator, so that a difference between runs can be read."""
    databases = run.pop("databases")
    head = json.dumps(run, sort_keys=True)
    parts = [f'"{name}": {_lines(found)}' for name, found in sorted(databases.items())]
    return f'{head[:-1]}, "databases": {{\n' + ",\n".join(parts) + "}}\n"


def _lines(found: Found) -> str:
    rows = (f'"{op}": {json.dumps(modes, sort_keys=True)}' for op, modes in sorted(found.items()))
    return "{\n" + ",\n".join(rows) + "}"


if __name__ == "__main__":
    main()
