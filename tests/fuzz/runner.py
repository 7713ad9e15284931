"""Runs random programs on the CPU and the device, and prints those that differ: `make fuzz-ops`.

    python -m fuzz.runner --programs 20000 --seed 0 --workers 2

Each mismatch is printed as code to paste, after statements that do not matter were removed.
Results go to build/fuzz, and a run goes on where an earlier one ended. Exits with 1 when a program
differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"
os.environ.setdefault("TORCH_NEURONX_NEFF_CACHE_DIR", str(FOLDER / "cache"))

from tqdm import tqdm  # noqa: E402

from .workers import run_all  # noqa: E402 - its processes read the environment


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one program")
    parser.add_argument(
        "--compiled-every", type=int, default=10, help="compile the programs of each Nth seed, too"
    )
    parser.add_argument("--results", type=Path, default=FOLDER / "results.jsonl")
    parser.add_argument("--again", choices=("failed", "all"), help="run also what has run")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def read(path: Path) -> dict[int, dict[str, Any]]:
    """The last outcome of each seed; a line that a killed run left unfinished is skipped."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            outcome = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[outcome["seed"]] = outcome
    return found


def is_due(found: dict[str, Any] | None, again: str | None) -> bool:
    return found is None or again == "all" or (again == "failed" and found["verdict"] != "agreed")


def report(outcome: dict[str, Any]) -> str:
    where = f"{outcome.get('way', '')} program of seed {outcome['seed']}: {outcome['verdict']}"
    return f"\n# {where}\n# {outcome['detail']}\n{outcome['program']}"


def main() -> int:
    options = arguments()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    wanted = range(options.seed, options.seed + options.programs)
    before = read(options.results)
    due = [seed for seed in wanted if is_due(before.get(seed), options.again)]
    with (
        options.results.open("a") as file,
        tqdm(
            total=len(due),
            unit="program",
            disable=options.quiet,
            smoothing=0.02,
            mininterval=0.1 if sys.stderr.isatty() else 30,
        ) as bar,
    ):

        def done(outcome: dict[str, Any]) -> None:
            file.write(json.dumps(outcome) + "\n")
            file.flush()
            bar.update()
            if outcome["verdict"] != "agreed":
                tqdm.write(report(outcome))

        run_all(due, options.workers, options.timeout, options.compiled_every, done)
    return summary([found for seed, found in read(options.results).items() if seed in wanted])


def summary(outcomes: list[dict[str, Any]]) -> int:
    verdicts = Counter(outcome["verdict"] for outcome in outcomes)
    compiled = sum(outcome.get("compiled", False) for outcome in outcomes)
    statements = sum(outcome.get("statements", 0) for outcome in outcomes)
    seconds = sum(outcome.get("seconds", 0) for outcome in outcomes)
    print(f"{len(outcomes)} programs, {compiled} also compiled, {statements} statements")
    print(f"{1000 * seconds / max(len(outcomes), 1):.0f} ms per program")
    print(", ".join(f"{verdict}: {count}" for verdict, count in verdicts.most_common()))
    return 1 if set(verdicts) - {"agreed"} else 0


if __name__ == "__main__":
    sys.exit(main())
