"""What was compiled and why, and why ops ran on the host: the record behind explain().

Recording costs an append; text is made only when somebody asks. cache.py records programs,
eager/fallback.py the reasons of fallbacks. How often each op ran is counted by the C++ dispatcher,
and read in eager/fallback.py.
"""

import functools
import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from torch_neuronx.runtime.signature import describe

_LIMIT = 65536  # events kept; the counters never forget
_COMPARED = 64  # earlier programs of an op, the latest ones, among which the nearest is looked for

TIERS = ("memory", "disk", "compiled")


@dataclass
class GraphFacts:
    """What explain() tells of a graph of torch.compile. `reason`: why Dynamo traced it again."""

    name: str
    nodes: int
    reason: str = ""
    lowering_seconds: float = 0.0


@dataclass(frozen=True)
class Event:
    """One program that a call needed and the table in memory did not have."""

    op: str
    tier: str  # memory: alive in this process; disk: loaded; compiled: made now
    seconds: float
    size: int  # bytes of the executable, 0 where the plugin does not say
    call: Any  # torch_neuronx.eager.call.Call, None where there is none
    graph: GraphFacts | None = None


_lock = threading.Lock()
_events: deque[Event] = deque(maxlen=_LIMIT)
_dynamo_events: deque[Event] = deque(maxlen=_LIMIT)
_requests: Counter[str] = Counter()
_fallback_reasons: dict[str, str] = {}


def record(
    op: str,
    tier: str,
    seconds: float,
    size: int,
    call: Any = None,
    graph: GraphFacts | None = None,
) -> None:
    event = Event(graph.name if graph else op, tier, seconds, size, call, graph)
    with _lock:
        _events.append(event)
        if graph is not None:
            _dynamo_events.append(event)
        _requests[tier] += 1


@dataclass(frozen=True)
class DynamoMetric:
    """One program of a graph of torch.compile; times in microseconds, size in bytes."""

    graph_name: str
    graph_node_count: int
    torch_neuronx_lowering_us: float
    torch_neuronx_compile_us: float  # or of loading it, see tier
    executable_size: int
    tier: str


def get_dynamo_metrics() -> list[DynamoMetric]:
    """The programs made for graphs of torch.compile since start or reset_dynamo_metrics()."""
    with _lock:
        return [_dynamo_metric(event, event.graph) for event in _dynamo_events if event.graph]


def reset_dynamo_metrics() -> None:
    with _lock:
        _dynamo_events.clear()


def _dynamo_metric(event: Event, graph: GraphFacts) -> DynamoMetric:
    lowering, seconds = graph.lowering_seconds * 1e6, event.seconds * 1e6
    return DynamoMetric(graph.name, graph.nodes, lowering, seconds, event.size, event.tier)


def requests() -> dict[str, int]:
    """How many programs each tier has answered for since start."""
    with _lock:
        return {tier: _requests[tier] for tier in TIERS}


def record_fallback(op: str, reason: str) -> bool:
    """Notes why `op` runs on the host; True the first time."""
    with _lock:
        first = op not in _fallback_reasons
        _fallback_reasons[op] = reason
    return first


@dataclass(frozen=True)
class Row:
    """One line of explain()."""

    op: str
    why: str
    seconds: float
    size: int
    tier: str
    nodes: int = 0  # of a graph; 0 for an op
    lowering_seconds: float = 0.0


class Explanation:
    """Every program since start, in order, and the ops that ran on the host.

    Prints as a table; `to_json()` gives the same as JSON text.
    """

    def __init__(self, events: Iterable[Event], fallbacks: dict[str, str]) -> None:
        self._events = events
        self.fallbacks = fallbacks

    @functools.cached_property
    def rows(self) -> list[Row]:
        return _explain(self._events)

    def to_json(self) -> str:
        return json.dumps(
            {"programs": [vars(row) for row in self.rows], "fallbacks": self.fallbacks}, indent=1
        )

    def __str__(self) -> str:
        counts = Counter(row.tier for row in self.rows)
        total = ", ".join(f"{counts[tier]} {tier}" for tier in TIERS)
        lines = [f"{len(self.rows)} programs ({total})"]
        if self.rows:
            lines += _table(self.rows)
        lines += [f"on the host: {op}: {reason}" for op, reason in self.fallbacks.items()]
        return "\n".join(lines)

    __repr__ = __str__


def explain() -> Explanation:
    """Every compile since start: what asked for it, why, how long it took, from which tier."""
    with _lock:
        return Explanation(tuple(_events), dict(_fallback_reasons))


def _explain(events: Iterable[Event]) -> list[Row]:
    known: dict[str, deque[dict[str, str]]] = defaultdict(lambda: deque(maxlen=_COMPARED))
    rows = []
    for event in events:
        parts = describe(event.call)
        why = _cause(parts, known[event.op])
        known[event.op].append(parts)
        row = Row(event.op, why, event.seconds, event.size, event.tier)
        if event.graph is not None:
            row = _with_graph(row, event.graph)
        rows.append(row)
    return rows


def _with_graph(row: Row, graph: GraphFacts) -> Row:
    why = f"Dynamo traced again: {graph.reason}" if graph.reason else row.why
    return replace(row, why=why, nodes=graph.nodes, lowering_seconds=graph.lowering_seconds)


def _differences(new: dict[str, str], old: dict[str, str]) -> list[str]:
    return [name for name in {**old, **new} if new.get(name) != old.get(name)]


def _cause(parts: dict[str, str], known: deque[dict[str, str]]) -> str:
    """What differs from the most similar earlier key of the same op."""
    if not known:
        return "first program of this op"
    # The latest among the nearest: in a loop that is the call that a reader has in mind.
    nearest = min(reversed(known), key=lambda old: len(_differences(parts, old)))
    changed = _differences(parts, nearest)
    if not changed:
        return "the same key: forgotten in memory since"
    return "; ".join(
        f"{name}: {nearest.get(name, 'absent')} -> {parts.get(name, 'absent')}" for name in changed
    )


def _table(rows: list[Row]) -> list[str]:
    """One line per program; the columns that only graphs have are left out where there is none."""
    columns = [
        ("op", "<", [row.op for row in rows]),
        ("tier", "<", [row.tier for row in rows]),
        ("nodes", ">", [str(row.nodes or "") for row in rows]),
        ("lowering ms", ">", [_milliseconds(row.lowering_seconds) for row in rows]),
        ("ms", ">", [f"{row.seconds * 1e3:.1f}" for row in rows]),
        ("KiB", ">", [f"{row.size / 1024:.0f}" for row in rows]),
        ("why", "", [row.why for row in rows]),
    ]
    shown = [_aligned(*column) for column in columns if any(column[2])]
    return ["  ".join(line) for line in zip(*shown, strict=True)]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}" if seconds else ""


def _aligned(title: str, side: str, cells: list[str]) -> list[str]:
    cells = [title, *cells]
    width = max(map(len, cells)) if side else 0
    return [f"{cell:{side}{width}}" if side else cell for cell in cells]
