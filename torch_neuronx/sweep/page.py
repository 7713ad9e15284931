"""The results as one HTML file that opens from disk: `page.html` with the records inside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch_neuronx.sweep import results

_TEMPLATE = Path(__file__).with_name("page.html")
_FIELDS = ("name", "library", "family", "model", "tasks", "at", "checks", "failures", "seconds",
           "parameters", "memory", "programs", "fallbacks", "breaks")  # fmt: skip


def html(records: Iterable[dict[str, Any]], made: str) -> str:
    """The page; `made`: when, in words."""
    records = list(records)
    shown = [{key: record[key] for key in _FIELDS if key in record} for record in records]
    data = {"made": made, "totals": results.totals(records), "records": shown}
    # Within a script element only "<" could end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return _TEMPLATE.read_text().replace("/*DATA*/", text)
