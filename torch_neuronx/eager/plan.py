"""One call's program: arguments read through their views, the op lowered, results placed.

Called by `eager.miss` for a call that no cache knows, by tests, and by nobody else. It builds the
StableHLO and the description of how to launch it; compiling is the caller's.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from torch_neuronx.eager import doubts, fake, functional, roads
from torch_neuronx.eager.bases import Bases
from torch_neuronx.eager.call import Call, NumberListSpec, NumberSpec, TensorSpec
from torch_neuronx.eager.placement import Placement
from torch_neuronx.eager.program import Composite, Host, Launch, Program, Resize
from torch_neuronx.lowering import graph, hlo
from torch_neuronx.lowering.hlo.bindings import UnsupportedDtype, check_supported
from torch_neuronx.lowering.layout import is_contiguous
from torch_neuronx.lowering.module import Module
from torch_neuronx.lowering.storages import counts_places
from torch_neuronx.lowering.value import LoweringError, Value
from torch_neuronx.runtime import options

# Tracing and MLIR share state between threads.
lowering_lock = threading.RLock()


@dataclass
class Plan:
    """A program, and for a Launch (whose executable is still None) its StableHLO and the graph of
    ops that was lowered, and whether to compile it quickly."""

    program: Program
    portable: bytes | None = None
    graph: Any = None
    quick: bool = False


class NoProgram(Exception):
    """The call has no program; the message says why and becomes the reason of a host run."""


def plan(call: Call, version: str = "") -> Plan:
    """The program of `call`, for a plugin of StableHLO `version` ("": our own).

    Raises PyTorch's own errors for a call that PyTorch refuses.
    """
    description = roads.describe(call.op)
    if description.road == "host":
        return Plan(Host(description.reason))
    if description.road == "composite":
        return Plan(Composite())
    try:
        with lowering_lock, fake.plain_dispatch():
            return _Planner(call, description.road).plan(version)
    except UnsupportedDtype:
        raise
    except (NoProgram, NotImplementedError) as reason:
        return Plan(Composite() if roads.is_composed(call.op) else Host(str(reason)))
    except LoweringError:
        fake.raise_cpu_error(call)
        raise


class _Planner:
    def __init__(self, call: Call, road: str) -> None:
        self.call = call
        self.road = road
        self.form = functional.form_for(call)
        self.arguments = self.form.arguments(call)
        self.written = [call.args[i] for i in self.form.written]
        self.graph: Any = f"{self.form.op}{tuple(self.arguments)}"

    def plan(self, version: str) -> Plan:
        if any(isinstance(w, list) and doubts.writes_interact(w, self.call) for w in self.written):
            raise NoProgram("it writes to tensors that it also reads or writes elsewhere")
        if counts_places(self.form.op) and not _is_whole(self.arguments[0], self.call):
            raise NoProgram("its places are those of a storage of which the program sees a part")
        results = self._infer()
        for dtype in _dtypes(results):
            check_supported(dtype, self.call.op)
        targets = _pairs(self.written, self._new_values(results))
        if doubts.may_be_refused(self.call, targets, _dtypes(results)):
            fake.raise_cpu_error(self.call)
            doubts.refuse_expanded(self.call, (spec for spec, _ in targets))
        resizes = self._resizes(targets)
        if resizes:
            return Plan(Resize(resizes))
        module = Module(str(self.call.op))
        with module.build():
            launch, outputs, donated = self._lower(module, results)
            module.finish(outputs, donated)
        launch.inputs = module.inputs
        launch.rng_increment = module.program.rng_used
        quick = _is_quick(module.tensor_types())
        return Plan(launch, module.serialize(version), self.graph, quick)

    def _infer(self) -> list[Any]:
        """The functional form's results as fake tensors, one entry per schema return."""
        try:
            got = fake.room(self.form.op, self.call, self.arguments)
            if got is None:
                got = fake.infer(self.form.op, self.call, self.arguments)
            elif self.written:
                raise NoProgram("the size of what it writes depends on the data")
        except fake.DYNAMIC as error:
            raise NoProgram("the shape of its result depends on the data") from error
        return _as_list(got, len(self.form.op._schema.returns))

    def _new_values(self, results: list[Any]) -> list[Any]:
        """The results that are the new values of the written arguments."""
        return results[self.form.fresh :][: len(self.written)]

    def _resizes(self, targets: list[tuple[TensorSpec, Any]]) -> list[Any]:
        misfits = [(t, r) for t, r in targets if _misfits(t, r)]
        if not all(self.call.is_out(t) for t, _ in misfits):
            raise NoProgram("its result has another shape than the tensor it writes to")
        if doubts.share_storage((t for t, _ in misfits), self.call):
            # Resizing would change what is read, and so the result's shape.
            fake.raise_cpu_error(self.call)
            raise NoProgram("it resizes a tensor that it also reads")
        if any(not r.is_contiguous() for _, r in misfits):
            return fake.resized_on_cpu(self.call, [t for t, _ in misfits])
        return [(t.index, tuple(r.shape), tuple(r.stride())) for t, r in misfits]

    def _lower(
        self, module: Module, results: list[Any]
    ) -> tuple[Launch, list[Value], dict[tuple[Any, ...], int]]:
        bases = Bases(module, self.call)
        values = self._results(bases, results)
        fresh, written = values[: self.form.fresh], self._new_values(values)
        placed = Placement(bases)
        returned = [placed.fresh(v, r) for v, r in zip(fresh, results, strict=False)]
        for spec, value in _pairs(self.written, written):
            bases.write(spec, hlo.convert(value, spec.dtype))
        donated = placed.writes()
        placed.add_counts()
        if not all(check.leaves_target for check in module.program.checks):
            donated = {}
        placed.checks(module.program.checks)
        launch = Launch(
            executable=None,
            inputs=[],
            results=placed.results,
            returns=self._returns(returned),
            checks=[(c.exception, c.message) for c in module.program.checks],
            rng_increment=0,
            name=str(self.call.op),
            donated=[index for _, index in donated],
        )
        return launch, placed.values, donated

    def _results(self, bases: Bases, results: list[Any]) -> list[Any]:
        op, out = self.form.op, [graph.meta_of(r) for r in results]
        if self.road == "rule":
            arguments = [bases.argument(a) for a in self.arguments]
            got = graph.apply_rule(
                op, out[0] if len(out) == 1 else tuple(out), *_split(op, arguments)
            )
            return _as_list(got, len(out))
        return self._trace(bases, out)

    def _trace(self, bases: Bases, out: list[Any]) -> list[Any]:
        from torch_neuronx.eager.trace import trace

        try:
            traced = trace(self.form.op, self.call, self.arguments)
        except fake.DYNAMIC as error:
            raise NoProgram("its decomposition depends on the data") from error
        missing = graph.missing_rules(traced)
        if missing:
            raise NoProgram(f"its decomposition needs {missing[0]}, which has no lowering rule")
        self.graph = traced.graph
        inputs = [bases.argument(a) for a in _tensor_inputs(self.form.op, self.arguments)]
        got = _as_list(graph.lower_graph(traced, inputs), len(out))
        graph.verify_results(self.form.op, out, got)
        return got

    def _returns(self, fresh: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """One entry per return of the op's schema: a fresh result, or the argument it aliases."""
        remaining = iter(fresh)
        returns = []
        for declared in self.call.op._schema.returns:
            if declared.alias_info is None:
                returns.append(next(remaining))
            else:
                returns.append(_argument_return(self.call, declared))
        return returns


def _is_quick(types: list[Any]) -> bool:
    """Whether a program with tensors of these MLIR types is compiled quickly: it is small, and
    without 8-bit floats, some of which XLA:CPU's older code generators round to NaN for -0."""
    few = all(math.prod(t.shape) <= options.FEW_ELEMENTS for t in types)
    return few and not any(str(t.element_type).startswith("f8") for t in types)


def _is_whole(spec: TensorSpec, call: Call) -> bool:
    """Whether the tensor is its storage, in order, whenever the program runs."""
    if spec.offset or spec.requires_offset or not is_contiguous(spec.sizes, spec.strides):
        return False
    return call.bases[spec.base].nbytes == math.prod(spec.sizes) * spec.dtype.itemsize


def _pairs(targets: Any, results: Any) -> list[tuple[TensorSpec, Any]]:
    """Each written tensor with its new value; lists are flattened, absent tensors left out."""
    if isinstance(targets, TensorSpec):
        return [(targets, results)]
    if not isinstance(targets, list):
        return []
    return [pair for t, r in zip(targets, results, strict=True) for pair in _pairs(t, r)]


def _dtypes(results: Any) -> set[torch.dtype]:
    return {r.dtype for r in tree_leaves(results) if isinstance(r, torch.Tensor)}


def _misfits(spec: TensorSpec, result: torch.Tensor) -> bool:
    return tuple(result.shape) != tuple(spec.sizes)


def _argument_return(call: Call, declared: torch.Argument) -> tuple[Any, ...]:
    assert declared.alias_info is not None
    aliases = declared.alias_info.before_set
    for argument, value in zip(call.op._schema.arguments, call.args, strict=True):
        if argument.alias_info is None or not isinstance(value, (TensorSpec, list)):
            continue
        if argument.alias_info.before_set & aliases:
            if isinstance(value, list):
                return ("list", [("arg", v.index) for v in value])
            return ("arg", value.index)
    raise LoweringError(f"{call.op} returns an alias of no tensor argument")


def _as_list(got: Any, count: int) -> list[Any]:
    if count == 1:
        return [got]
    return list(got) if got is not None else []


def _split(op: torch._ops.OpOverload, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    keyword: dict[str, Any] = {}
    for declared, value in zip(op._schema.arguments, values, strict=True):
        if declared.kwarg_only:
            keyword[declared.name] = value
        else:
            positional.append(value)
    return positional, keyword


def _tensor_inputs(op: torch._ops.OpOverload, arguments: list[Any]) -> list[Any]:
    """The arguments that are inputs of a traced graph, in its order."""
    inputs: list[Any] = []
    for declared, argument in zip(op._schema.arguments, arguments, strict=True):
        if "Tensor" not in str(declared.type):
            continue
        members = argument if isinstance(argument, list) else [argument]
        inputs += [m for m in members if isinstance(m, (TensorSpec, NumberSpec, NumberListSpec))]
    return inputs
