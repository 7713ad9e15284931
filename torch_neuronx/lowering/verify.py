"""Checks that a rule returned what the op's metadata promises. Called by `graph` after rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_neuronx.lowering.counted import Counted
from torch_neuronx.lowering.value import LoweringError, Meta, Value


def results(op: Any, out: Any, got: Any) -> None:
    """Raises LoweringError unless `got` has the structure, shapes and dtypes of `out`."""
    if out is None:
        return
    if isinstance(out, Meta):
        _one(op, out, got, "")
        return
    if not isinstance(got, Sequence) or len(got) != len(out):
        count = len(got) if isinstance(got, Sequence) else "one value"
        raise LoweringError(f"the rule of {op} returned {count}, expected {len(out)} results")
    for position, (meta, value) in enumerate(zip(out, got, strict=True)):
        _nested(op, meta, value, f" for result {position}")


def _nested(op: Any, meta: Any, value: Any, where: str) -> None:
    if isinstance(meta, Meta):
        _one(op, meta, value, where)
    elif meta is not None:
        results(op, meta, value)


def _one(op: Any, meta: Meta, value: Any, where: str) -> None:
    if isinstance(value, Counted):
        value = value.value
    if not isinstance(value, Value):
        raise LoweringError(f"the rule of {op} returned {value!r}{where}, expected {_text(meta)}")
    if value.shape != tuple(meta.shape) or value.dtype != meta.dtype:
        raise LoweringError(
            f"the rule of {op} returned {_text(value)}{where}, expected {_text(meta)}"
        )


def _text(x: Meta | Value) -> str:
    return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"
