"""The road of every ATen operator that a backend is asked for, as data and as tables.

The roads are those of `eager.roads`; what the dispatcher settles before it asks that table (the
backend's own C++ kernels, PyTorch's composite ones) is read from the dispatcher. Nothing is run and
no device is opened. `entries` is the data, one Entry per overload; ``python -m
torch_neuronx.coverage`` prints `totals` and `sections`. docs/coverage.md has them beside what the
operators' tests found.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch._ops import OpOverload

from torch_neuronx.eager import roads
from torch_neuronx.lowering import registry
from torch_neuronx.lowering.hlo.bindings import is_supported


@dataclass(frozen=True)
class Road:
    """A section of the page. Columns follow the op and its overloads; `native`: not the host's."""

    name: str
    meaning: str
    columns: tuple[str, ...]
    native: bool = True


ROADS = (
    Road(
        "rule",
        "A rule of ours makes the program. In-place and `out=` overloads use the rule of their "
        "functional form. A single call may still have no program: it then runs composed or on the "
        "host, which says why.",
        ("declared in",),
    ),
    Road(
        "decomposition",
        "PyTorch's decomposition is traced to ops that have rules and becomes one program. Which "
        "ops those are depends on the arguments, so whether all of them have rules is known per "
        "call; where one has none, the call runs composed, or on the host naming it.",
        ("decomposition",),
    ),
    Road(
        "composite",
        "PyTorch's kernel calls other ops, and each of those takes its own road: what runs is "
        "known per call. A *view* changes metadata and runs no program; an *implicit* op is "
        "composed before a backend is asked. The rule, where there is one, serves programs that "
        "contain the op.",
        ("kind", "rule"),
    ),
    Road(
        "kernel",
        "A C++ kernel of the backend, because the op is about storage, reads a value, or is a few "
        "calls of others. The rule, where there is one, serves programs that contain the op.",
        ("kernel", "rule"),
    ),
    Road(
        "host",
        "PyTorch's CPU kernel runs on copies, with one warning per op. An `out=` overload that "
        "PyTorch composes of such an op is listed with it.",
        ("reason",),
        native=False,
    ),
    Road(
        "none",
        "No road: PyTorch has no kernel for dense CPU tensors either, so a call raises "
        "NotImplementedError. These ops belong to other devices, libraries and layouts, or make "
        "quantized tensors, which live on the CPU.",
        (),
        native=False,
    ),
)


@dataclass(frozen=True)
class Entry:
    """An overload's road, by name, with a text for each of the road's columns."""

    op: OpOverload
    road: str
    details: tuple[str, ...] = ()

    @property
    def is_core(self) -> bool:
        return torch.Tag.core in self.op.tags


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every ATen overload that a backend is asked for, has a rule or is tagged core, by name."""
    return tuple(entry(op) for op in aten_overloads() if _is_listed(op))


@functools.cache
def aten_overloads() -> tuple[OpOverload, ...]:
    names = (n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::"))
    return tuple(_overload(name) for name in sorted(names))


def _overload(name: str) -> OpOverload:
    packet, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _is_listed(op: OpOverload) -> bool:
    is_known = registry.rule(op) is not None or torch.Tag.core in op.tags
    return is_known or not _has_kernel(op, "CompositeImplicitAutograd")


def entry(op: OpOverload) -> Entry:
    kernel = _own_kernel(op)
    if kernel == _REFUSES:
        return Entry(op, "none")
    if kernel:
        return Entry(op, "kernel", (kernel, _rule_file(op)))
    if _stays_composite(op):
        return _composite(op)
    description = roads.describe(op)
    target = roads.functional_target(op)
    if description.road == "rule" and target is not None:
        return Entry(op, "rule", (_rule_file(target),))
    if description.road == "decomposition" and target is not None:
        return Entry(op, "decomposition", (_source(roads.decompositions()[target]),))
    if description.road == "composite":
        return _composite(op)
    if _has_kernel(op, "CPU", *_COMPOSITE):
        return Entry(op, "host", (description.reason,))
    return Entry(op, "none")


_REFUSES = "csrc/dispatch/quantized.cpp"
_COMPOSITE = (
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)


def _composite(op: OpOverload) -> Entry:
    """An out= form that is its functional form and a copy goes where that goes."""
    target = roads.functional_target(op)
    if target is not None and target is not op:
        base = entry(target)
        if base.road in ("host", "none"):
            return Entry(op, base.road, base.details)
    kind = "view" if roads.is_view(op) else ""
    if not kind and not _has_kernel(op, *_COMPOSITE[:2]):
        kind = "implicit"
    return Entry(op, "composite", (kind, _rule_file(op)))


def _has_kernel(op: OpOverload, *keys: str) -> bool:
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) for key in keys)


def _stays_composite(op: OpOverload) -> bool:
    """Whether the dispatcher calls PyTorch's composite kernel without asking for a road."""
    return _has_kernel(op, *_COMPOSITE) and not _has_kernel(op, "PrivateUse1")


_REGISTERED = re.compile(r"^PrivateUse1: registered at \S*?(csrc/\S+?):\d", re.MULTILINE)


def _own_kernel(op: OpOverload) -> str:
    """The file that registers a kernel of this op alone; "" when the boxed kernel serves it."""
    found = _REGISTERED.search(torch._C._dispatch_dump(op.name()))
    file = found[1] if found else ""
    return "" if file == "csrc/dispatch/registration.cpp" else file


def _rule_file(op: OpOverload) -> str:
    rule = registry.rule(op)
    if rule is None:
        return ""
    return rule.module.removeprefix("torch_neuronx.").replace(".", "/") + ".py"


def _source(decomposition: Callable[..., object]) -> str:
    """The module of PyTorch's that has it; those of the core ATen table call implicit kernels."""
    while isinstance(decomposition, functools.partial):
        decomposition = decomposition.func
    module = decomposition.__module__
    return "PyTorch's implicit kernel" if module == "torch._export.utils" else module


def totals() -> str:
    """Markdown: how many operators go which way, and the dtypes that no program takes."""
    found = entries()
    refused = ", ".join(f"`{d}`" for d in _dtypes_refused())
    return (
        f"{_totals(found)}\n\n"
        f"{_shares(found)}\n\n"
        f"No program takes tensors of these dtypes: {refused}.\n"
    )


def sections() -> str:
    """Markdown: a table of operators for each road."""
    found = entries()
    tables = [_section(road, [e for e in found if e.road == road.name]) for road in ROADS]
    return "\n".join([_HOW_TO_READ, *tables])


_HOW_TO_READ = (
    "In the tables, a row is an operator and those of its overloads that go the same way; "
    "`abs_` beside `default` is an overload of another operator, the in-place one. *core* "
    "marks a row with an overload of PyTorch's core ATen set.\n"
)


def _shares(found: tuple[Entry, ...]) -> str:
    native = {road.name for road in ROADS if road.native}
    possible = [e for e in found if e.road != "none"]
    own = [e for e in possible if e.road in native]
    composed = len(aten_overloads()) - len(found)
    return (
        f"Of the {len(possible)} overloads that have a road, {len(own)} "
        f"({len(own) / len(possible):.1%}) have one other than the host; of the core ones "
        f"{_cores(own)} of {_cores(possible)}. {composed} more overloads are not listed: PyTorch "
        "composes them before a backend is asked."
    )


def release() -> str:
    """The release of torch that the page is about."""
    return torch.__version__.partition("+")[0]


def _dtypes_refused() -> list[str]:
    known = {d for d in vars(torch).values() if isinstance(d, torch.dtype)}
    return sorted(str(d).removeprefix("torch.") for d in known if not is_supported(d))


def _totals(found: tuple[Entry, ...]) -> str:
    rows = [(f"[{road.name}](#{road.name})", _of(found, road.name)) for road in ROADS]
    rows.append(("all", found))
    counts = [
        (name, str(len({_operator(e.op) for e in chosen})), str(len(chosen)), str(_cores(chosen)))
        for name, chosen in rows
    ]
    return table(("road", "operators", "overloads", "core overloads"), counts)


def _of(found: tuple[Entry, ...], road: str) -> tuple[Entry, ...]:
    return tuple(e for e in found if e.road == road)


def _cores(found: Iterable[Entry]) -> int:
    return sum(e.is_core for e in found)


def _section(road: Road, found: list[Entry]) -> str:
    columns = ("operator", "overloads", "core", *road.columns)
    return f"### {road.name}\n\n{road.meaning}\n\n{table(columns, _rows(found))}\n"


def _rows(found: list[Entry]) -> Iterator[tuple[str, ...]]:
    """One row per operator and details, sorted by operator."""

    def row(e: Entry) -> tuple[str, tuple[str, ...]]:
        return _operator(e.op), e.details

    for (operator, details), group in itertools.groupby(sorted(found, key=row), row):
        members = list(group)
        overloads = " ".join(_short(e.op, operator) for e in members)
        core = "core" if _cores(members) else ""
        yield f"`{operator}`", f"`{overloads}`", core, *details


def _operator(op: OpOverload) -> str:
    """The name of the row: an in-place operator is listed with its functional one."""
    name, target = op.overloadpacket.__name__, roads.functional_target(op)
    is_in_place = target is not None and target.overloadpacket.__name__ + "_" == name
    return name.removesuffix("_") if is_in_place else name


def _short(op: OpOverload, operator: str) -> str:
    name, overload = op.overloadpacket.__name__, op._overloadname
    if name == operator:
        return overload
    return name if overload == "default" else f"{name}.{overload}"


def table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Markdown."""
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    print(totals(), sections(), sep="\n", end="")
