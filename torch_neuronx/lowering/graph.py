"""Lowers ATen calls, one or a whole FX graph of them, to values by the registry's rules.

Called by `eager` for one op and for the small graph of a decomposition, and by `compile` for the
graph of torch.compile. It knows nothing of buffers: inputs are logical values, so are the results.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._pytree import tree_leaves

from torch_neuronx.lowering import context, numbers, registry, verify
from torch_neuronx.lowering.storages import Storage, Storages, counts_places
from torch_neuronx.lowering.value import LoweringError, Meta, Value

# The values of a graph's symbolic sizes: sympy's symbols to sympy's numbers.
Symbols = Mapping[Any, Any]
_SYMBOLIC = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


def meta_of(value: Any, symbols: Symbols | None = None) -> Any:
    """The `Meta` of a (fake) tensor; sequences map to tuples, anything else to None."""
    if isinstance(value, torch.Tensor):
        shape = tuple(concrete(n, symbols) for n in value.shape)
        strides = tuple(concrete(n, symbols) for n in value.stride())
        return Meta(shape, value.dtype, strides)
    if isinstance(value, (list, tuple)):
        return tuple(meta_of(v, symbols) for v in value)
    return None


def concrete(size: Any, symbols: Symbols | None = None) -> Any:
    """A size, or a number computed from sizes, its symbols replaced by their values."""
    plain = _SYMBOLIC.get(type(size))
    if plain is None:
        return size
    value = size.node.expr.xreplace(symbols or {})
    if value.free_symbols:
        raise NotImplementedError(f"the size {value} depends on the data")
    return plain(value)


def bind(symbols: dict[Any, Any], val: Any, given: Any) -> None:
    """Adds the symbols in `val`, a tensor's or a number's metadata. `given` tells their values: the
    tensor's sizes, or the number. A part of a graph may be given a product of symbols alone."""
    if isinstance(val, torch.Tensor):
        for size, n in zip(val.shape, given, strict=False):
            bind(symbols, size, n)
    elif type(val) in _SYMBOLIC and val.node.expr.free_symbols:
        from sympy import sympify

        symbols[val.node.expr] = sympify(given)


def apply_rule(op: OpOverload, out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One op's results from its rule; defaults are filled in, placement arguments left out."""
    rule = registry.rule(op)
    if rule is None:
        raise LoweringError(f"{op} has no lowering rule")
    positional, keyword = _bind(rule, args, kwargs)
    out = _wanted(rule, out, args)
    with context.location(str(op)), _named(op):
        got = rule.function(out, *positional, **keyword)
    verify.results(op, out, got)
    return got


@contextlib.contextmanager
def _named(op: OpOverload | HigherOrderOperator) -> Iterator[None]:
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
    return Interpreter().run(module, inputs)


class Interpreter:
    """Runs a functional graph on values. `symbols` are the sizes that its metadata speaks of."""

    def __init__(self, symbols: Symbols | None = None) -> None:
        self.symbols = symbols or {}

    def run(self, module: fx.GraphModule, inputs: Sequence[Any]) -> Any:
        """What the graph returns for `inputs`, one per placeholder: Values and numbers."""
        (output,) = module.graph.find_nodes(op="output")
        values = type(self)(self._symbols(module, inputs)).values(module, inputs)
        return fx.map_arg(output.args[0], values.__getitem__)

    def _symbols(self, module: fx.GraphModule, inputs: Sequence[Any]) -> Symbols:
        """Those of an inner graph, which may have its own for what it is given."""
        symbols = dict(self.symbols)
        for node, given in zip(module.graph.find_nodes(op="placeholder"), inputs, strict=True):
            if not isinstance(given, Value):
                bind(symbols, node.meta.get("val"), given)
            elif not given.is_number:
                bind(symbols, node.meta.get("val"), given.shape)
        return symbols

    def values(
        self, module: fx.GraphModule, inputs: Sequence[Any], skipped: Container[fx.Node] = ()
    ) -> dict[fx.Node, Any]:
        """The Value or number of every node but those `skipped`."""
        env: dict[fx.Node, Any] = {}
        remaining = iter(inputs)
        storages = Storages(self._meta, lambda n: concrete(n, self.symbols))
        uses_storages = any(counts_places(node.target) for node in module.graph.nodes)
        for node in module.graph.nodes:
            if node in skipped or node.op == "output":
                continue
            if node.op == "placeholder":
                env[node] = next(remaining)
            elif node.op == "get_attr":
                env[node] = _attribute(module, node)
            elif node.op == "call_function":
                args, kwargs = fx.map_arg((node.args, node.kwargs), env.__getitem__)
                if counts_places(node.target):
                    env[node] = storages.apply(node, args, kwargs)
                else:
                    env[node] = self.call(node, args, kwargs)
            else:
                raise LoweringError(f"a graph to lower cannot have a {node.op} node: {node}")
            if uses_storages:
                storage = self.storage(node) if node.op == "placeholder" else None
                if storage is not None:
                    storages.add_input(node, storage)
                storages.add(node, env[node])
        return env

    def storage(self, node: fx.Node) -> Storage | None:
        """The storage of an input that is a part of it, if it is known."""
        return None

    def _meta(self, tensor: torch.Tensor) -> Meta:
        meta = meta_of(tensor, self.symbols)
        assert isinstance(meta, Meta)
        return meta

    def call(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        """The results of one call."""
        target, val = node.target, node.meta.get("val")
        if type(val) in _SYMBOLIC:
            return self._number(node, val, args)
        out = meta_of(val, self.symbols)
        if isinstance(target, OpOverload):
            return apply_rule(target, out, self._seen(node, args), kwargs)
        if isinstance(target, HigherOrderOperator):
            return self._higher_order(target, out, args, kwargs)
        is_plain = getattr(target, "__module__", None) in _PLAIN_MODULES
        if not is_plain and not is_dataclass(target):  # which holds what an op takes as an option
            raise LoweringError(f"a graph to lower cannot call {target}")
        return target(*args, **kwargs)  # type: ignore[operator]

    def _seen(self, node: fx.Node, args: Any) -> Any:
        """The Values that are arguments themselves, with the strides of their tensors."""
        return tuple(
            value.seen(self._meta(given.meta["val"]).strides)
            if isinstance(given, fx.Node) and isinstance(value, Value) and _is_tensor(given)
            else value
            for given, value in zip(node.args, args, strict=True)
        )

    def _number(self, node: fx.Node, val: Any, args: Any) -> Any:
        """A number computed from sizes, or when the program runs from one that it computes."""
        try:
            return concrete(val, self.symbols)
        except NotImplementedError:
            if not any(isinstance(a, Value) for a in tree_leaves(args)):
                raise
        if node.target is operator.getitem:
            return operator.getitem(*args)
        if node.target is torch.ops.aten._local_scalar_dense.default:
            return numbers.item(*args)
        return numbers.compute(node.target, type(val), args)

    def _higher_order(self, target: HigherOrderOperator, out: Any, args: Any, kwargs: Any) -> Any:
        rule = registry.higher_order_rule(target)
        if rule is None:
            raise LoweringError(f"the higher-order operator {target} has no lowering rule")
        with context.location(str(target)), _named(target):
            got = rule(self.run, out, *args, **kwargs)
        verify.results(target, out, got)
        return got


def _is_tensor(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


# Where the functions of a graph live that compute with sizes or take results apart.
_PLAIN_MODULES = ("_operator", "math", "torch", "torch.fx.experimental.sym_node")


def verify_results(op: OpOverload, out: Sequence[Any], got: Sequence[Any]) -> None:
    """The check that `apply_rule` makes, for the results of a whole graph that stands for `op`."""
    verify.results(op, tuple(out), got)


def missing_rules(module: fx.GraphModule) -> list[OpOverload]:
    """The ops of a graph that have no rule, each once, in order."""
    called = [n.target for n in module.graph.nodes if n.op == "call_function"]
    ops = [t for t in called if isinstance(t, OpOverload)]
    return list(dict.fromkeys(op for op in ops if registry.rule(op) is None))


def _attribute(module: fx.GraphModule, node: fx.Node) -> Any:
    """A tensor constant that tracing lifted into the module, or the graph of an inner function."""
    from torch_neuronx.lowering import hlo

    held = operator.attrgetter(str(node.target))(module)
    return hlo.literal(held.detach().cpu()) if isinstance(held, torch.Tensor) else held


def _wanted(rule: registry.Rule, out: Any, args: Sequence[Any]) -> Any:
    """`out` without the results that the call's output mask leaves out: some of PyTorch's meta
    kernels promise them all the same."""
    declared = zip(rule.op._schema.arguments, args, strict=False)
    for mask in (value for a, value in declared if a.name in _OUTPUT_MASKS):
        return tuple(meta if wanted else None for meta, wanted in zip(out, mask, strict=True))
    return out


_OUTPUT_MASKS = ("output_mask", "grad_input_mask")


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
