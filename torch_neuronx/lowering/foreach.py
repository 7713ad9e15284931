"""Rules for the _foreach_ family: the one-tensor rule mapped over lists.

Every argument is a list (one item per tensor), a 1-d run-time list of numbers, or one value for
all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch_neuronx.lowering import hlo, registry
from torch_neuronx.lowering.elementwise import rule_for
from torch_neuronx.lowering.value import LoweringError, Value

aten = torch.ops.aten

UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf", "erfc", "exp", "expm1",
    "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "max", "neg", "reciprocal", "round",
    "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "zero",
]  # fmt: skip

# The op that the List, Scalar, ScalarList and Tensor overloads of _foreach_<name> map.
BINARY = {
    "add": aten.add.Tensor,
    "clamp_max": aten.clamp_max.Tensor,
    "clamp_min": aten.clamp_min.Tensor,
    "copy": aten.copy.default,
    "div": aten.div.Tensor,
    "lerp": aten.lerp.Tensor,
    "maximum": aten.maximum.default,
    "minimum": aten.minimum.default,
    "mm": aten.mm.default,
    "mul": aten.mul.Tensor,
    "pow": aten.pow.Tensor_Tensor,
    "sub": aten.sub.Tensor,
}


def item(argument: Any, i: int) -> Any:
    """What `argument` is for the i-th tensor."""
    if isinstance(argument, (list, tuple)):
        return argument[i]
    if isinstance(argument, Value) and argument.ndim == 1:
        return hlo.reshape(hlo.slice_dim(argument, 0, i, i + 1), ())
    return argument


def _rule(op: torch._ops.OpOverload) -> Callable[..., Any]:
    found = registry.rule(op)
    if found is None:
        raise LoweringError(f"{op} has no rule to map over lists")
    return found.function


def _mapped(op):
    """The rule that maps the rule of `op`."""

    def rule(out, *args, **kwargs):
        fn = _rule(op)
        return [fn(meta, *(item(a, i) for a in args), **kwargs) for i, meta in enumerate(out)]

    return rule


def functional(packet) -> list:
    """The overloads of `packet` that return new tensors."""
    overloads = (getattr(packet, name) for name in packet.overloads())
    return [op for op in overloads if not op._schema.is_mutable]


for _name in UNARY:
    for _op in functional(getattr(aten, f"_foreach_{_name}")):
        rule_for(_op)(_mapped(getattr(aten, _name).default))

for _name, _single in BINARY.items():
    for _op in functional(getattr(aten, f"_foreach_{_name}")):
        if _op == aten._foreach_pow.Scalar:
            rule_for(_op, static=("exponent",))(_mapped(aten.pow.Tensor_Scalar))
        else:
            rule_for(_op)(_mapped(_single))


def _with_value(op):
    """addcmul and addcdiv, whose factor is the last positional argument here, a keyword there."""

    def rule(out, xs, ys, zs, value=1):
        fn = _rule(op)
        rows = enumerate(zip(out, xs, ys, zs, strict=True))
        return [fn(meta, x, y, z, value=item(value, i)) for i, (meta, x, y, z) in rows]

    return rule


for _packet, _single in (
    (aten._foreach_addcmul, aten.addcmul.default),
    (aten._foreach_addcdiv, aten.addcdiv.default),
):
    for _op in functional(_packet):
        rule_for(_op)(_with_value(_single))


def _norms(op):
    def rule(out, xs, ord=2, dtype=None):
        fn = _rule(op)
        return [fn(meta, x, ord, None, dtype=dtype) for meta, x in zip(out, xs, strict=True)]

    return rule


rule_for(aten._foreach_norm.Scalar, static=("ord",))(_norms(aten.linalg_vector_norm.default))
rule_for(aten._foreach_powsum.Scalar, static=("ord",))(_norms(aten.linalg__powsum.default))
