"""The function that Dynamo calls for backend="neuron", and what it asks of AOTAutograd.

Forward and backward are one executable each: AOTAutograd functionalizes, applies PyTorch's
decompositions to the ops without a rule and cuts the joint graph where least has to be saved.
Updates of inputs stay in the graph, whose program then writes into their buffers.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._dynamo import trace_rules

from torch_neuronx.compile.options import Options, parse

if TYPE_CHECKING:
    from torch_neuronx.compile.origin import Origin

# They speak with the runtime: there is nothing in them to trace, as in their like of torch.cuda.
# Said here because Dynamo imports this module before it traces anything for the backend.
for _module in ("memory", "properties", "random", "selection"):
    trace_rules.add(f"torch_neuronx.device.{_module}")


def neuron(
    module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles a graph of Dynamo's; see `options.Options` for what `options` may say.

    Programs are made when the graph is first called with inputs of a new key. A graph that has an
    op without a program raises NotImplementedError here, unless options allow to run it eagerly.
    """
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    from torch_neuronx.compile import device_interface, origin
    from torch_neuronx.device import higher_order

    device_interface.register()
    higher_order.register()
    chosen = parse(mode, options)
    made = origin.of_current_compile(module, example_inputs, chosen.model_name)
    compiler = functools.partial(_compiler, chosen, made)
    compiled = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=_decompositions(),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )(module, example_inputs)
    constants = [t for t in (*module.parameters(), *module.buffers()) if not t.requires_grad]
    return _keeping_gradients(compiled, module, constants, made) if constants else compiled


def _keeping_gradients(
    compiled: Callable[..., Any],
    module: fx.GraphModule,
    constants: Sequence[torch.Tensor],
    made: Origin,
) -> Callable[..., Any]:
    """Calls `module` where AOTAutograd's graph would lose a gradient: it has what Dynamo lets the
    module hold, such as an optimizer's state, as constants, and no guard sees that steps with
    differentiable=True make this state require a gradient."""

    def run(*args: Any) -> Any:
        if not torch.is_grad_enabled() or not any(t.requires_grad for t in constants):
            return compiled(*args)
        warnings.warn(
            f"{made.name} runs eagerly, op by op: a tensor that it holds, for instance of an "
            "optimizer's state, has come to require a gradient since it was compiled",
            stacklevel=2,
        )
        return module(*args)

    return run


def _decompositions() -> dict[Any, Callable[..., Any]]:
    """Those of eager, composite kernels for want of another road, those of custom ops and quantised
    graphs of PyTorch's, and of Inductor's fma, which Dynamo itself writes for addcmul_ and its
    like; the op exists once it did."""
    from torch_neuronx.eager import roads
    from torch_neuronx.lowering import composed, decomposed_quantization, traced_factories

    table = {
        **roads.composites(),
        **traced_factories.factories(),
        **roads.decompositions(),
        **composed.varlen(),
        **decomposed_quantization.decompositions(),
    }
    if hasattr(torch.ops.prims, "fma"):
        fma: Any = torch.ops.prims.fma.default
        table[fma] = fma.impl_aten
    return table


def _compiler(options: Options, made: Origin, kind: str) -> Callable[..., Any]:
    def compile(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        from torch_neuronx.compile.graph import compile_graph

        _let_graphs_be_retained()
        return compile_graph(module, kind, made, options)

    return compile


def _let_graphs_be_retained() -> None:
    """Declares no saved tensor to be free for the backward pass: AOTAutograd would then refuse
    retain_graph=True. Which are free is seen at each call, by their references."""
    context = torch._guards.TracingContext.try_get()
    if context is not None and context.fw_metadata is not None:
        context.fw_metadata.bw_donated_idxs = []
