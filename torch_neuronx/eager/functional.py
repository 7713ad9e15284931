"""The functional form of an op that writes to its arguments: add_ -> add, mm.out -> mm.

Found from schemas, not from a list: the form is the overload of the op's base name that takes the
same arguments and writes none. Its results are the op's fresh results or its out= tensors, then the
new value of each other written argument, in schema order. Called by `roads` and `plan`; it never
looks at values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._ops import OpOverload

from torch_neuronx.eager.call import Call, TensorSpec
from torch_neuronx.lowering.value import LoweringError

aten = torch.ops.aten
# What a factory takes and its out= form does not: there the out tensor decides.
_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


@dataclass(frozen=True)
class Form:
    """How an op maps to its functional form. Numbers are positions in the op's schema."""

    op: OpOverload
    passed: tuple[int | None, ...]  # the arguments of the form; None: an option of a factory
    written: tuple[int, ...]  # the arguments that receive the form's last results
    fresh: int  # how many results come before those; further results are not used

    def arguments(self, call: Call) -> list[Any]:
        """The form's arguments for `call`, in its schema's order."""
        schema = self.op._schema.arguments
        return [
            self._option(declared, call) if position is None else call.args[position]
            for declared, position in zip(schema, self.passed, strict=True)
        ]

    def _option(self, declared: torch.Argument, call: Call) -> Any:
        target = call.args[self.written[0]]
        if declared.name == "dtype" and isinstance(target, TensorSpec):
            return target.dtype
        return None


@functools.cache
def form_of(op: OpOverload) -> Form | None:
    """The form of `op` (itself, when it writes nothing), or None if PyTorch has none."""
    schema = op._schema
    outs = tuple(i for i, a in enumerate(schema.arguments) if _is_out(a))
    places = (i for i, a in enumerate(schema.arguments) if _is_written(a) and i not in outs)
    written = (*outs, *places)
    if op in _NATIVE_BATCH_NORMS:
        # They update their running statistics although their schemas do not say so.
        written = (*outs, 3, 4)
        functional = aten._native_batch_norm_legit_functional.default
        return Form(functional, tuple(range(8)), written, 3 - len(outs))
    if not written:
        return Form(op, tuple(range(len(schema.arguments))), (), len(schema.returns))
    fresh = sum(r.alias_info is None for r in schema.returns)
    for candidate in _candidates(op):
        passed = _matched(op, candidate)
        if passed is not None:
            return Form(candidate, passed, written, fresh)
    return None


def form_for(call: Call) -> Form:
    """The form of one call: a batch norm depends on which statistics it is given."""
    form = form_of(call.op)
    if form is None:
        raise LoweringError(f"{call.op} has no functional form")
    if call.op in _BATCH_NORMS:
        return _batch_norm_form(call, form)
    return form


_NATIVE_BATCH_NORMS = frozenset({aten.native_batch_norm.default, aten.native_batch_norm.out})
_BATCH_NORMS = _NATIVE_BATCH_NORMS | {
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.out,
}


def _batch_norm_form(call: Call, form: Form) -> Form:
    """Without running statistics none are passed; in evaluation mode no statistics are written."""
    outs = tuple(i for i in form.written if i not in (3, 4))
    if call.args[3] is None and call.args[4] is None:
        no_stats = aten._native_batch_norm_legit.no_stats
        return Form(no_stats, (0, 1, 2, 5, 6, 7), outs, form.fresh)
    return form if call.args[5] else replace(form, written=outs[:1])


def _candidates(op: OpOverload) -> list[OpOverload]:
    packets = [getattr(getattr(torch.ops, op.namespace), n, None) for n in _base_names(op)]
    overloads = [getattr(p, o) for p in packets if p is not None for o in p.overloads()]
    return [o for o in overloads if not o._schema.is_mutable]


def _base_names(op: OpOverload) -> list[str]:
    name = op.overloadpacket.__name__
    if name.endswith("__"):
        return ["__" + name[3:] if name.startswith("__i") else name]
    base = name.removesuffix("_")
    return [base, base + "_functional", "_" + base]


def _matched(op: OpOverload, candidate: OpOverload) -> tuple[int | None, ...] | None:
    """For each argument of `candidate` where `op` has it; None unless they take the same."""
    given = {_signature(a): i for i, a in enumerate(op._schema.arguments) if not _is_out(a)}
    taken = candidate._schema.arguments
    passed = tuple(given.get(_signature(a)) for a in taken)
    optional = all(
        a.name in _OPTIONS for a, p in zip(taken, passed, strict=True) if p is None
    ) and any(_is_out(a) for a in op._schema.arguments)
    complete = len(given) == sum(p is not None for p in passed)
    return passed if complete and (optional or None not in passed) else None


def _signature(argument: torch.Argument) -> tuple[str, str]:
    return argument.name, str(argument.type)


def _is_written(argument: torch.Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_out(argument: torch.Argument) -> bool:
    return _is_written(argument) and argument.kwarg_only
