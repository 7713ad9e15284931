"""Lowers ATen calls, one or a whole FX graph of them, to values by the registry's rules.

Called by `eager` for one op and for the small graph of a decomposition, and by `compile` for the
graph of torch.compile. It knows nothing of buffers: inputs are logical values, so are the results.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from torch_neuronx.lowering import context, registry, verify
from torch_neuronx.lowering.value import LoweringError, Meta, Value


def meta_of(value: Any) -> Any:
    """The `Meta` of a (fake) tensor; sequences map to tuples, anything else to None."""
    if isinstance(value, torch.Tensor):
        return Meta(tuple(value.shape), value.dtype, tuple(value.stride()))
    if isinstance(value, (list, tuple)):
        return tuple(meta_of(v) for v in value)
    return None


def apply_rule(op: OpOverload, out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One op's results from its rule; defaults are filled in, placement arguments left out."""
    rule = registry.rule(op)
    if rule is None:
        raise LoweringError(f"{op} has no lowering rule")
    positional, keyword = _bind(rule, args, kwargs)
    with context.location(str(op)), _named(op):
        got = rule.function(out, *positional, **keyword)
    verify.results(op, out, got)
    return got


@contextlib.contextmanager
def _named(op: OpOverload) -> Iterator[None]:
    """An error inside a rule is a LoweringError that names the op.

    NotImplementedError passes: it is how a rule says that this call has no program, and why.
    """
    try:
        yield
    except (LoweringError, NotImplementedError):
        raise
    except Exception as error:
        raise LoweringError(f"the rule of {op} failed: {error}") from error


def lower_graph(module: fx.GraphModule, inputs: Sequence[Any]) -> Any:
    """The graph's output structure with a Value (or plain number) for each node in it."""
    env: dict[fx.Node, Any] = {}
    remaining = iter(inputs)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            env[node] = next(remaining)
        elif node.op == "get_attr":
            env[node] = _literal(module, node)
        elif node.op == "call_function":
            env[node] = _call(node, env)
        elif node.op == "output":
            return fx.map_arg(node.args[0], env.__getitem__)
        else:
            raise LoweringError(f"a graph to lower cannot have a {node.op} node: {node}")
    raise LoweringError("a graph to lower has no output node")


def verify_results(op: OpOverload, out: Sequence[Any], got: Sequence[Any]) -> None:
    """The check that `apply_rule` makes, for the results of a whole graph that stands for `op`."""
    verify.results(op, tuple(out), got)


def missing_rules(module: fx.GraphModule) -> list[OpOverload]:
    """The ops of a graph that have no rule, each once, in order."""
    called = [n.target for n in module.graph.nodes if n.op == "call_function"]
    ops = [t for t in called if t is not operator.getitem]
    return list(dict.fromkeys(op for op in ops if registry.rule(op) is None))


def _call(node: fx.Node, env: dict[fx.Node, Any]) -> Any:
    args: Any = fx.map_arg(node.args, env.__getitem__)
    kwargs: Any = fx.map_arg(node.kwargs, env.__getitem__)
    if node.target is operator.getitem:
        return args[0][args[1]]
    if not isinstance(node.target, OpOverload):
        raise LoweringError(f"a graph to lower cannot call {node.target}")
    return apply_rule(node.target, meta_of(node.meta.get("val")), args, kwargs)


def _literal(module: fx.GraphModule, node: fx.Node) -> Value:
    """A tensor constant that tracing lifted into the module."""
    from torch_neuronx.lowering import hlo

    tensor = operator.attrgetter(str(node.target))(module).detach().cpu()
    return hlo.literal(tensor)


def _bind(
    rule: registry.Rule, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    given = dict(kwargs)
    schema = rule.op._schema.arguments
    given.update({a.name: value for a, value in zip(schema, args, strict=False)})
    positional, keyword = [], {}
    for name, kwarg_only, has_default, default in rule.passed:
        if name not in given and not has_default:
            raise LoweringError(f"{rule.op} is called without its argument {name!r}")
        value = given.get(name, default)
        if kwarg_only:
            keyword[name] = value
        else:
            positional.append(value)
    return positional, keyword
