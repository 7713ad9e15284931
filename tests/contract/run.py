"""Runs PyTorch's operator descriptions against the device: `make contract`.

    python -m contract.run --dtype float32 --mode forward --only 'nn.functional.*'

Without arguments it runs every operator, dtype and mode. Results go to build/contract, and a run
goes on where an earlier one ended. Exits with 1 when a result is not what the ledger says.
"""

from __future__ import annotations

import argparse
import fnmatch
import math
import os
import random
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "contract"
os.environ.setdefault("TORCH_NEURONX_NEFF_CACHE_DIR", str(FOLDER / "cache"))

import torch  # noqa: E402 - importing it loads the backend, which reads the environment
from tqdm import tqdm  # noqa: E402

from . import ledger, results  # noqa: E402
from .checks import MODES, is_meant  # noqa: E402
from .databases import DATABASES, operators  # noqa: E402
from .ledger import Case  # noqa: E402
from .workers import Limits, run_all  # noqa: E402

DTYPES = [
    *("float32", "float64", "bfloat16", "float16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
    *("uint64", "uint32", "uint16", "complex32"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", nargs="+", choices=DATABASES, default=list(DATABASES))
    parser.add_argument("--only", default="*", help="a pattern of operator names")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--samples", type=int, help="at most this many per operator")
    parser.add_argument(
        "--share", type=float, default=1, help="of all these checks, drawn at random by --seed"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one operator")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="start no operator later than this"
    )
    parser.add_argument("--results", type=Path, default=FOLDER / "results.jsonl")
    parser.add_argument("--again", choices=("failed", "all"), help="run also what has run")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def cases(options: argparse.Namespace) -> list[Case]:
    found = [
        Case(name, dtype, mode, database)
        for mode in options.mode
        for dtype in options.dtype
        for database in options.database
        for name, operator in operators(database).items()
        if fnmatch.fnmatch(name, options.only) and is_meant(operator, getattr(torch, dtype), mode)
    ]
    if options.share == 1:
        return found
    return random.Random(options.seed).sample(found, round(options.share * len(found)))


def is_due(found: dict | None, again: str | None) -> bool:
    if found is None or again == "all":
        return True
    return again == "failed" and found["verdict"] not in ("passed", "skipped")


def main() -> int:
    options = arguments()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    wanted = cases(options)
    before = results.read(options.results)
    due = [case for case in wanted if is_due(before.get(case), options.again)]
    # A log has a line twice a minute, a terminal a bar.
    pace = 0.1 if sys.stderr.isatty() else 30
    with tqdm(total=len(due), unit="op", mininterval=pace, disable=options.quiet) as bar:

        def done(case: Case, outcome: dict) -> None:
            results.append(options.results, case, outcome)
            bar.set_postfix_str(f"{case.op} {outcome['verdict']}", refresh=False)
            bar.update()

        limits = Limits(options.timeout, options.samples, options.minutes * 60)
        run_all(due, options.workers, limits, done)
    asked = set(wanted)
    found = {case: r for case, r in results.read(options.results).items() if case in asked}
    surprises = results.surprises(found, ledger.known(), whole=options.samples is None)
    print(*surprises, "", results.table(found), sep="\n")
    if len(found) < len(wanted):
        print(f"{len(wanted) - len(found)} checks were not started in {options.minutes} minutes.")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
