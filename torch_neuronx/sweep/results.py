"""What sweeps found: a JSON line for each architecture and run, whose checks are put together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch_neuronx.sweep.catalog import TEXT_GENERATION
from torch_neuronx.sweep.checks import PASSED, WRONG

Record = dict[str, Any]


def read(path: Path) -> dict[str, Record]:
    """Records by name. A later line's checks take the place of an earlier one's, whose other
    checks stay. A line that a killed sweep left unfinished is skipped."""
    found: dict[str, Record] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        earlier = found.get(record["name"])
        found[record["name"]] = _together(earlier, record) if earlier else record
    return found


def _together(earlier: Record, later: Record) -> Record:
    if not later["checks"] or not earlier["checks"]:  # one of them did not come that far
        return later
    again = set(later["ran"])
    kept = {name: verdict for name, verdict in earlier["checks"].items() if name not in again}
    failures = [f for f in earlier["failures"] if f["check"] in kept]
    return {
        **earlier,
        **later,
        "ran": sorted(again.union(earlier["ran"])),
        "checks": {**kept, **later["checks"]},
        "failures": failures + later["failures"],
        "seconds": {**earlier["seconds"], **later["seconds"]},
    }


def append(path: Path, record: Record) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def passes_eagerly(record: Record) -> bool:
    """Loads, and its forward, backward and generation, where it has them, are the CPU's, all of it
    on the device. What the CPU cannot do either does not pass."""
    failed = {failure["check"] for failure in record["failures"]}
    return "forward" in record["checks"] and not failed - {"compile"}


def passes_compiled(record: Record) -> bool:
    return record["checks"].get("compile") == PASSED


def passes(record: Record) -> bool:
    return not record["failures"]


def is_wrong(record: Record) -> bool:
    return WRONG in record["checks"].values()


def totals(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Rows of counts: text generation, each library, and its model types, of which one passes when
    all its classes do."""
    records = list(records)
    rows = []
    generating = [r for r in records if TEXT_GENERATION in r["tasks"]]
    if generating:
        rows.append(_row("text-generation architectures", generating))
    for library in sorted({r["library"] for r in records}, reverse=True):
        of_library = [r for r in records if r["library"] == library]
        rows.append(_row(f"{library}: model classes", of_library))
        if library == "transformers":
            rows.append(_row(f"{library}: model types", _types(of_library)))
    return rows


def _types(records: list[Record]) -> list[Record]:
    """A record for each model type, of all that its classes failed."""
    found: dict[str, Record] = {}
    for record in records:
        one = found.setdefault(record["family"], {"checks": {}, "failures": []})
        one["failures"] = one["failures"] + record["failures"]
        for name, verdict in record["checks"].items():
            if one["checks"].get(name, PASSED) == PASSED or verdict == WRONG:
                one["checks"][name] = verdict
    return list(found.values())


def _row(title: str, records: list[Record]) -> dict[str, Any]:
    return {
        "title": title,
        "count": len(records),
        "eager": sum(map(passes_eagerly, records)),
        "compiled": sum(map(passes_compiled, records)),
        "all": sum(map(passes, records)),
        "wrong": sum(map(is_wrong, records)),
        **{
            cause: sum(any(f["cause"] == cause for f in r["failures"]) for r in records)
            for cause in ("backend", "library", "configuration")
        },
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Totals as a Markdown table."""
    columns = ("count", "eager", "compiled", "all", "wrong", "backend", "library", "configuration")
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        cells = [str(row["count"])]
        for name in columns[1:]:
            share = f" ({row[name] / row['count']:.1%})" if name in columns[1:4] else ""
            cells.append(f"{row[name]}{share}")
        lines.append(f"| {row['title']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def document(records: Iterable[Record], made: str) -> str:
    """All records as one JSON document."""
    records = list(records)
    return json.dumps({"made": made, "totals": totals(records), "records": records}, indent=1)


_COMPACT = ("name", "tasks", "at", "checks", "fallbacks", "breaks")
_COMPACT_FAILURE = ("check", "cause", "kind", "message", "op", "line")
_LONGEST = 200  # characters of a message


def compact(records: Iterable[Record], made: str) -> str:
    """What `summary` needs and a repository can keep: a JSON document with a line for each
    record, without times and tracebacks."""
    lines = []
    for record in sorted(records, key=lambda r: r["name"]):
        kept = {key: record[key] for key in _COMPACT if record.get(key)}
        kept["checks"] = record["checks"]
        kept["failures"] = [
            {key: str(f[key])[:_LONGEST] for key in _COMPACT_FAILURE if f.get(key)}
            for f in record["failures"]
        ]
        lines.append(json.dumps(kept, separators=(",", ":")))
    return f'{{"made": "{made}", "records": [\n' + ",\n".join(lines) + "\n]}\n"


def expanded(document: str) -> list[Record]:
    """The records of a compact document, with what their names say."""
    records = json.loads(document)["records"]
    for record in records:
        record["library"], record["family"], record["model"] = record["name"].split("/")
        record.setdefault("tasks", [])
    return records
