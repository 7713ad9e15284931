"""Builds every architecture that Transformers, timm and Diffusers know, reduced, and compares it on
the device with the CPU.

    python -m torch_neuronx.sweep --library transformers --only '*llama*' --workers 2

Results go to build/sweep/results.jsonl, and a sweep goes on where an earlier one ended.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import functools
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path("build") / "sweep"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    from torch_neuronx.sweep.catalog import LIBRARIES
    from torch_neuronx.sweep.checks import CHECKS

    parser = argparse.ArgumentParser(
        prog="python -m torch_neuronx.sweep", description=__doc__.split("\n\n")[0]
    )
    add = parser.add_argument
    add("--library", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    add("--only", nargs="+", default=["*"], metavar="GLOB",
        help="names such as transformers/llama/*; a word without / matches anywhere")  # fmt: skip
    add("--text-generation", action="store_true", help="only architectures that generate text")
    add("--all-variants", action="store_true", help="all of timm's variants, not one per module")
    add("--checks", nargs="*", choices=CHECKS, default=list(CHECKS),
        help="none: build and run on the CPU only")  # fmt: skip
    add("--changed-since", metavar="WHEN",
        help="a date or a git revision: run again what the files of torch_neuronx and csrc that "
        "changed since then are newer than")  # fmt: skip
    add("--again", choices=("failed", "all"), help="run also what has run")
    add("--first", type=int, metavar="N", help="at most so many")
    add("--workers", type=int, default=os.cpu_count() or 1)
    add("--timeout", type=float, default=180, help="seconds for one architecture")
    add("--memory", type=float, default=6, help="GiB that a worker may hold")
    add("--results", type=Path, default=FOLDER / "results.jsonl")
    add("--json", type=Path, metavar="FILE", help="write all results as one JSON document")
    add("--compact", type=Path, metavar="FILE", help="write what a repository keeps of them")
    add("--html", type=Path, metavar="FILE", help="write the page")
    add("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    os.environ.setdefault("TORCH_NEURONX_NEFF_CACHE_DIR", str(FOLDER.absolute() / "cache"))
    try:
        return sweep(options)
    except ImportError as error:
        print(error, file=sys.stderr)
        return 2


def sweep(options: argparse.Namespace) -> int:
    """Runs what is due, writes what was asked for, prints the totals. 1 where a result is wrong."""
    from torch_neuronx.sweep import results, service, workers
    from torch_neuronx.sweep.due import due

    options.results.parent.mkdir(parents=True, exist_ok=True)
    wanted = selected(options)
    before = results.read(options.results)
    jobs = due(wanted, before, options.checks, options.again, options.changed_since)
    jobs = jobs[: options.first]
    limits = workers.Limits(options.timeout, int(options.memory * 2**30))
    serve = functools.partial(service.serve, checks=tuple(options.checks))
    with _progress(len(jobs), options.quiet) as bar:

        def done(job: Any, record: dict[str, Any]) -> None:
            results.append(options.results, service.described(job, record))
            failed = [f["check"] for f in record["failures"]]
            bar.set_postfix_str(f"{job.name} {' '.join(failed) or 'passed'}", refresh=False)
            bar.update()

        workers.run_all(jobs, serve, options.workers, limits, done)
    names = {a.name for a in wanted}
    found = {n: r for n, r in results.read(options.results).items() if n in names}
    _write(options, list(found.values()))
    print(results.table(results.totals(found.values())))
    return 1 if any(map(results.is_wrong, found.values())) else 0


def selected(options: argparse.Namespace) -> list[Any]:
    """The architectures that the options name."""
    from torch_neuronx.sweep.catalog import architectures

    patterns = [p if "/" in p else f"*{p}*" for p in options.only]
    return [
        architecture
        for library in options.library
        for architecture in architectures(library, options.all_variants)
        if any(fnmatch.fnmatchcase(architecture.name, pattern) for pattern in patterns)
        and (architecture.generates_text or not options.text_generation)
    ]


def _progress(total: int, quiet: bool) -> Any:
    from tqdm import tqdm

    pace = 0.1 if sys.stderr.isatty() else 30  # a log has a line twice a minute
    return tqdm(total=total, unit="model", mininterval=pace, disable=quiet)


def _write(options: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    from torch_neuronx.sweep import page, results

    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    if options.json:
        options.json.write_text(results.document(records, made))
    if options.compact:
        options.compact.write_text(results.compact(records, made))
    if options.html:
        options.html.write_text(page.html(records, made))


if __name__ == "__main__":
    sys.exit(main())
