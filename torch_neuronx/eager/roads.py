"""Which road an op takes, and which of its numbers are inputs of its program.

Called by C++ once per op, by the coverage page, and by `miss`. The answer depends on the op alone;
a single call may still leave its road (an unusual argument, an op that its decomposition needs).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload

from torch_neuronx.eager.call import operator
from torch_neuronx.eager.functional import form_of
from torch_neuronx.lowering import registry

aten = torch.ops.aten
# Their results share the argument's storage although their schemas do not say so.
_UNDECLARED_VIEWS = frozenset(
    {
        aten._unsafe_view.default,
        aten.lift.default,
        aten.unsafe_split.Tensor,
        aten.unsafe_split_with_sizes.default,
    }
)
_EXPLICIT = "CompositeExplicitAutograd"


@dataclass(frozen=True)
class Description:
    """road: "rule" | "decomposition" | "composite" | "host"; `reason` says why for host."""

    road: str
    runtime: tuple[str, ...] = ()
    reason: str = ""


@functools.cache
def describe(op: OpOverload) -> Description:
    if is_view(op):
        return _without_rule(op, "it is a view, which is the dispatcher's own business")
    target = functional_target(op)
    reason = registry.host_reason(op) or (target and registry.host_reason(target))
    if reason:
        return Description("host", reason=reason)
    rule = registry.rule(target) if target is not None else None
    if rule is not None:
        return Description("rule", tuple(n for n in rule.runtime if n in _names(op)))
    if torch.Tag.dynamic_output_shape in op.tags:
        return Description("host", reason="the shape of its result depends on the data")
    if torch.Tag.data_dependent_output in op.tags:
        return _without_rule(op, "it returns a number that depends on the data")
    if target is not None and target in decompositions():
        return Description("decomposition")
    return _without_rule(op, "it has neither a lowering rule nor a decomposition")


def is_view(op: OpOverload) -> bool:
    """Whether the op only says otherwise how a tensor sees its storage."""
    returns_view = any(
        r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns
    )
    return returns_view or torch.Tag.inplace_view in op.tags or op in _UNDECLARED_VIEWS


def _without_rule(op: OpOverload, reason: str) -> Description:
    if has_composite_kernel(op):
        return Description("composite")
    return Description("host", reason=reason)


def functional_target(op: OpOverload) -> OpOverload | None:
    """The op whose rule computes `op`: its functional form."""
    form = form_of(op)
    return None if form is None else form.op


@functools.cache
def decompositions() -> dict[OpOverload, Callable[..., Any]]:
    """PyTorch's own decompositions, of the ops that have no rule.

    An in-place op whose functional form has one is left whole too: functionalization makes it that.
    """
    from torch._decomp import core_aten_decompositions, decomposition_table

    ruled = registry.rules()
    table = {**_prims(), **decomposition_table, **core_aten_decompositions()}
    return {op: fn for op, fn in table.items() if ruled.keys().isdisjoint((op, _whole(op)))}


def _whole(op: Any) -> OpOverload | None:
    return functional_target(op) if isinstance(op, OpOverload) else None


def _prims() -> dict[OpOverload, Callable[..., Any]]:
    """Reference implementations are written in prims, each of which says its ATen form."""
    names = (name for name in torch._prims.__all__ if hasattr(torch.ops.prims, name))
    packets = [getattr(torch.ops.prims, name) for name in names]
    return {p.default: p.impl_aten for p in packets if hasattr(p, "impl_aten")}


def has_composite_kernel(op: OpOverload) -> bool:
    """A kernel in terms of other ops. Of a structured op, which has a CPU kernel, it is only its
    out= form in disguise."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if has(op.name(), "CompositeExplicitAutogradNonFunctional"):
        return is_view(op) or not has(op.name(), "CPU")
    return has(op.name(), _EXPLICIT)


@functools.cache
def composites() -> dict[OpOverload, Callable[..., Any]]:
    """PyTorch's composite kernels of the functional ops that have no other road, for tracing.

    Left out is what is kept for its effect on tracing: constraints and assertions.
    """
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]
    explicit = [_operator(n) for n in names if has(n, _EXPLICIT)]
    return {op: _kernel(op) for op in explicit if _is_traced_by_composite(op)}


def _is_traced_by_composite(op: OpOverload) -> bool:
    if op._schema.is_mutable or is_view(op) or describe(op).road != "composite":
        return False
    returns_tensor = any(isinstance(r.type, torch.TensorType) for r in op._schema.returns)
    depends_on_data = torch.Tag.data_dependent_output in op.tags
    return returns_tensor and not depends_on_data and "_functional_" not in op.name()


def _operator(name: str) -> OpOverload:
    base, _, overload = name.partition(".")
    return operator(base, overload)


def _kernel(op: OpOverload) -> Callable[..., Any]:
    """Functional: what is traced has no place for the writes that a kernel makes on its way."""
    from torch._subclasses.functional_tensor import dispatch_functionalize

    key = getattr(torch._C.DispatchKey, _EXPLICIT)
    return dispatch_functionalize(functools.partial(op._op_dk, key))


def is_composed(op: OpOverload) -> bool:
    """Whether the composite kernel serves calls that have no program: not where the op's results
    depend on data, which it computes on the host anyway."""
    return has_composite_kernel(op) and torch.Tag.dynamic_output_shape not in op.tags


def _names(op: OpOverload) -> set[str]:
    return {a.name for a in op._schema.arguments}
