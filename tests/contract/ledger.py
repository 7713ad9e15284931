"""The differences from the CPU that are known, and whether a result agrees with them."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LEDGER = Path(__file__).with_name("ledger.toml")
# What StableHLO has no element type for: an error that says so is right.
UNSUPPORTED = frozenset({"complex32"})


@dataclass(frozen=True)
class Case:
    """What one check is about; `dtype` without torch's prefix."""

    op: str
    dtype: str
    mode: str
    database: str = "op"


def known(path: Path = LEDGER) -> dict[Case, str]:
    """The reason of each difference. Raises ValueError for an entry that is there twice."""
    found: dict[Case, str] = {}
    for entry in tomllib.loads(path.read_text()).get("difference", []):
        reason = entry.pop("reason")
        for case in _cases(entry):
            if case in found:
                raise ValueError(f"{path.name} has two entries for {case}")
            found[case] = reason
    return found


def _cases(entry: dict[str, str | list[str]]) -> list[Case]:
    """One for each choice from the entry's lists."""
    choices = [[value] if isinstance(value, str) else value for value in entry.values()]
    return [Case(**dict(zip(entry, c, strict=True))) for c in itertools.product(*choices)]


def surprise(case: Case, verdict: str, differences: dict[Case, str], whole: bool = True) -> str:
    """What is wrong with `verdict`; "" when it is what the ledger says.

    `whole`: all samples were run. Else the ones that differ may not have been among them.
    """
    refused = verdict == "unsupported" and case.dtype in UNSUPPORTED
    fails = verdict not in ("passed", "skipped") and not refused
    if fails and case not in differences:
        return verdict
    if whole and not fails and case in differences:
        return "passes, but the ledger has it"
    return ""


def strangers(differences: Iterable[Case], cases: Iterable[Case]) -> list[Case]:
    """Entries about nothing that is run."""
    return sorted(set(differences) - set(cases), key=str)
