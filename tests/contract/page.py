"""Prints docs/coverage.md: the roads of the registry beside what the last full run found.

`make docs` calls it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_neuronx import coverage

from . import ledger, summary

# Other modes are checked as well; these are what a user asks about first.
COLUMNS = {"eager": "forward", "grad": "backward", "compiled": "compiled"}
TOTALS = ("database", "mode", "checks", "samples", "passed", "native", "refused")
SHORT = {
    "float64": "f64",
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "bool",
    "complex128": "c128",
    "complex64": "c64",
    "complex32": "c32",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3z",
    "float8_e5m2fnuz": "f8e5m2z",
}
TORCHNEURON = (
    "https://github.com/aws-neuron/torch-neuronx/blob/main/docs/torch_api_compatibility.md"
)
TORCHTPU = (
    "https://developers.googleblog.com/torchtpu-running-pytorch-natively-on-tpus-at-google-scale/"
)
VENDORS = (
    "The vendors publish lists, not results: TorchNeuron a table of "
    f"[operators, dtypes and CPU fallbacks]({TORCHNEURON}) of its public beta (Neuron 2.33.0), "
    f"TorchTPU an [overview]({TORCHTPU}) of its eager modes. Both betas leave out float64, dynamic "
    "shapes, sparse and nested tensors, forward-mode AD, quantization and fused LSTM cells. Every "
    "row here can be run again by anyone: `make contract`.\n"
)
CHECK = (
    "A check is one operator with one dtype in one mode: samples of it on the device and on the "
    "CPU, compared in value, dtype, shape and strides; the table says how many this run took "
    "(`make contract` without `--samples` takes all). *native*: no op of theirs ran on the host. "
    "*refused*: not among the checks, for StableHLO lacks the dtype, and the device raises "
    "NotImplementedError with its name. "
    "What else does not pass is in `tests/contract/ledger.toml`, with its reason.\n"
)


def markdown() -> str:
    run = summary.read()
    operators = run["databases"]["op"]
    spent = [cost for modes in run["cost"].values() for cost in modes.values()]
    samples, seconds = (sum(cost[what] for cost in spent) for what in ("samples", "seconds"))
    return "\n".join(
        [
            "# Coverage\n",
            "Made by `make docs` from the registry of rules, the dispatcher of torch "
            f"{coverage.release()} and `tests/contract/last_run.json`, the last recorded run of "
            f"PyTorch's own operator samples ({samples:,} of them, torch {run['torch']}; "
            f"{seconds / 3600:.1f} hours of processor time). "
            "[adding-an-op.md](adding-an-op.md) says how to give an operator a rule.\n",
            "## What PyTorch's own samples say\n",
            coverage.table(TOTALS, _totals(run)) + "\n",
            CHECK,
            VENDORS,
            "## What the registry says\n",
            coverage.totals(),
            "## Operators of PyTorch's database\n",
            "The dtypes that pass, in eager mode, with gradients and under "
            "`torch.compile(backend='neuron')`; ~~struck~~: refused, or in the ledger. An operator "
            "is native unless a road over the host is named.\n",
            coverage.table(("operator", "road", *COLUMNS), _rows(operators)) + "\n",
            "## ATen operators by road\n",
            coverage.sections(),
        ]
    )


def _totals(run: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for database, operators in sorted(run["databases"].items()):
        modes = sorted({mode for found in operators.values() for mode in found})
        for mode in modes:
            found = [found[mode] for found in operators.values() if mode in found]
            refused = sum(map(_refused, found))
            checks = sum(map(_count, found)) - refused
            if not checks:
                continue
            passed = sum(len(v.get("passed", ())) for v in found)
            native = sum(len(set(v.get("passed", ())) - set(v.get("host", ()))) for v in found)
            share = f"{native / checks:.1%}"
            samples = run["cost"][database][mode]["samples"]
            yield (
                database,
                mode,
                f"{checks:,}",
                f"{samples:,}",
                f"{passed:,}",
                f"{native:,} ({share})",
                str(refused or ""),
            )


def _refused(verdicts: summary.Verdicts) -> int:
    return len(ledger.UNSUPPORTED.intersection(verdicts.get("unsupported", ())))


def _count(verdicts: summary.Verdicts) -> int:
    return sum(len(dtypes) for dtypes in _run(verdicts).values())


def _run(verdicts: summary.Verdicts) -> dict[str, list[str]]:
    return {kind: ds for kind, ds in verdicts.items() if kind not in ("host", "skipped")}


def _rows(operators: summary.Found) -> Iterator[tuple[str, ...]]:
    for name, modes in sorted(operators.items()):
        hosts = [ops for verdicts in modes.values() for ops in verdicts.get("host", {}).values()]
        hosted = sorted({op for ops in hosts for op in ops})
        road = "host: " + ", ".join(f"`{op}`" for op in hosted) if hosted else "native"
        yield f"`{name}`", road, *(_dtypes(modes.get(mode, {})) for mode in COLUMNS.values())


def _dtypes(verdicts: summary.Verdicts) -> str:
    found = [(d, kind != "passed") for kind, ds in _run(verdicts).items() for d in ds]
    names = [(SHORT.get(d, d), bad) for d, bad in sorted(found, key=_order)]
    return " ".join(f"~~{name}~~" if bad else name for name, bad in names)


def _order(found: tuple[str, bool]) -> tuple[int, str]:
    known = list(SHORT)
    return known.index(found[0]) if found[0] in known else len(known), found[0]


if __name__ == "__main__":
    print(markdown(), end="")
