"""A compiled graph: the callable that AOTAutograd gets, and what makes its programs.

The C++ core binds tensors to buffers and finds the program by the key of the inputs; on a miss it
asks `Programs.miss`, which looks on disk and else lowers and compiles. Tensors on the CPU
travel in `host`; graphs that have ops without a program are cut in `split`.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

from torch import fx

from torch_neuronx import _C
from torch_neuronx.compile import artifacts, host, lower, origin, rng_state, split
from torch_neuronx.compile.calling import Run, boxed, op_by_op
from torch_neuronx.compile.captured import Captured, members
from torch_neuronx.compile.options import Options
from torch_neuronx.eager import check_memory
from torch_neuronx.eager.call import Call
from torch_neuronx.eager.program import Launch
from torch_neuronx.lowering.flags import lowering_flags
from torch_neuronx.lowering.value import LoweringError
from torch_neuronx.runtime import cache, metrics, platforms

_KEY_NAME = "neuron::graph"  # the names of graphs are no part of their keys


def compile_graph(module: fx.GraphModule, kind: str, made: origin.Origin, options: Options) -> Run:
    """The callable for a graph of AOTAutograd's, whose programs are made on demand.

    kind: "forward", "backward" or "inference".
    """
    made = made.part(kind)
    vals = (node.meta.get("val") for node in module.graph.nodes)
    devices = {t.device.type for val in vals for t in members(val)}
    if devices and "neuron" not in devices:
        return _without_device(module, devices, made)
    reason = split.reason_against(module)
    if reason is None:
        return boxed(split.compile_segments(module, lambda part: _run(part, kind, made, options)))
    if not options.fallback_execution:
        raise NotImplementedError(_refusal(made, reason))
    return _eagerly(module, made, reason)


def _run(module: fx.GraphModule, kind: str, made: origin.Origin, options: Options) -> Run:
    """The callable for a graph, or part of one, whose ops all have programs."""
    captured = Captured(module, kind, made.name)
    miss, takes_memory = Programs(captured, made).miss, bool(captured.saved)
    core = _C.Graph(captured.name, captured.device.index, takes_memory, miss)
    run = host.crossing(captured, core.run)
    return _WithFallback(captured, made, run) if options.fallback_execution else run


class _WithFallback:
    """Runs a graph eagerly from the first call on for which it has no program."""

    def __init__(self, captured: Captured, made: origin.Origin, run: Run) -> None:
        self.captured = captured
        self.origin = made
        self.run = run

    def __call__(self, args: list[Any]) -> Any:
        kept = list(args)
        try:
            return self.run(args)
        except CannotLower as error:
            self.run = _eagerly(self.captured.module, self.origin, error.reason)
            return self.run(kept)


class Programs:
    """Makes the programs of one graph. The core holds it, so it must not hold the core: a circle
    through C++ would keep both for ever."""

    def __init__(self, captured: Captured, made: origin.Origin) -> None:
        self.captured = captured
        self.origin = made

    def miss(self, call: Call) -> Launch:
        """The program for inputs of a new key: from disk, else lowered and compiled now."""
        key = self.captured.fingerprint + call.key + lowering_flags()
        facts = metrics.GraphFacts(self.captured.name, self.captured.nodes, self.origin.reason)
        found = cache.lookup(key, _KEY_NAME, call, facts)
        if found is None:
            found = self._make(key, call, facts)
        found.name = self.captured.name
        artifacts.record(cache.entries(key, _KEY_NAME))
        return found

    def _make(self, key: bytes, call: Call, facts: metrics.GraphFacts) -> Launch:
        start = time.perf_counter()
        version = platforms.client().attributes.get("stablehlo_current_version", "")
        try:
            made = lower.plan(self.captured, call, version)
        except (NotImplementedError, LoweringError) as error:
            raise CannotLower(self.origin, str(error)) from error
        facts.lowering_seconds = time.perf_counter() - start
        program, portable = made.program, made.portable
        assert isinstance(program, Launch) and portable is not None
        check_memory(program, call.device)
        program.executable = cache.compile(
            portable, self.captured.name, call=call, graph=made.graph, facts=facts
        )
        cache.store(key, _KEY_NAME, program, portable)
        return program


class CannotLower(NotImplementedError):
    """A graph has no program; `reason` names the op and the user's line."""

    def __init__(self, made: origin.Origin, reason: str) -> None:
        super().__init__(_refusal(made, reason))
        self.reason = reason


def _refusal(made: origin.Origin, reason: str) -> str:
    return (
        f"torch.compile(backend='neuron') has no program for {made.name}: {reason}\n"
        "options={'fallback_execution': True} or TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION=0 runs "
        "such a graph eagerly."
    )


def _eagerly(module: fx.GraphModule, made: origin.Origin, reason: str) -> Run:
    warnings.warn(f"{made.name} is not compiled but runs eagerly, op by op: {reason}", stacklevel=3)
    return boxed(op_by_op(rng_state.make_eager(module)))


def _without_device(module: fx.GraphModule, devices: set[str], made: origin.Origin) -> Run:
    """A graph with no tensor on the device: a model that was forgotten there, or a part of a larger
    program, which runs where its tensors are."""
    where = " and ".join(sorted(devices))
    if made.is_model:
        raise RuntimeError(
            f"torch.compile(backend='neuron') compiles for the neuron device, but {made.name} and "
            f"its inputs are on {where}: move them with .to('neuron')."
        )
    warnings.warn(
        f"{made.name} has no tensor on the neuron device, only on {where}: it runs there.",
        stacklevel=2,
    )
    return boxed(op_by_op(module))
