"""Writes the totals and the causes of failures of a recorded sweep into its page of the docs.

python -m torch_neuronx.sweep.summary tests/huggingface/last_sweep.json docs/sweep.md
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from torch_neuronx.sweep import results
from torch_neuronx.sweep.results import Record

BEGIN = "<!-- made by torch_neuronx.sweep.summary -->"
END = "<!-- end of what torch_neuronx.sweep.summary made -->"
_CAUSES = {
    "backend": "The backend's",
    "library": "The library's: fails on the CPU as well, or needs what is not installed",
    "configuration": "The reduction's: no small model that the CPU runs was found",
}
_LONGEST = 110  # characters of a message


def text(records: Iterable[Record], made: str) -> str:
    """Totals as a table, then each failure by whose it is; those with one reason share a line."""
    records = list(records)
    parts = [f"Recorded {made[:10]}.", results.table(results.totals(records))]
    for cause, title in _CAUSES.items():
        reasons: dict[str, list[str]] = defaultdict(list)
        for record in records:
            for failure in record["failures"]:
                if failure["cause"] == cause:
                    reasons[_reason(failure)].append(record["name"].split("/", 1)[1])
        if reasons:
            parts.append(f"### {title}")
            parts.append("\n".join(_line(reason, names) for reason, names in reasons.items()))
    return "\n\n".join(parts)


def _reason(failure: dict[str, str]) -> str:
    message = failure["message"].replace("|", "/").replace("`", "'")
    where = failure.get("op") or failure.get("line", "").split(" ")[0]
    cut = message if len(message) <= _LONGEST else message[:_LONGEST].rsplit(" ", 1)[0] + " ..."
    return f"{failure['check']}, {failure['kind']}: `{cut}`" + (f" ({where})" if where else "")


def _line(reason: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:4])
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"* {shown}{more}: {reason}"


def main(document: Path, page: Path) -> None:
    recorded = document.read_text()
    made = json.loads(recorded)["made"]
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    generated = text(results.expanded(recorded), made)
    page.write_text(f"{before}{BEGIN}\n\n{generated}\n\n{END}{after}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
