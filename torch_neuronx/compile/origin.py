"""Where a graph comes from: the function that Dynamo compiles, and the user's lines of its nodes.

Reads what Dynamo knows during a compile; without Dynamo (an exported program, a test) there are
only names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.utils import get_metrics_context
from torch._guards import CompileContext

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in .*\n(?P<code>.*)')

_RESUMED = "torch_dynamo_resume_in_"  # how Dynamo names the rest after a graph break


@dataclass(frozen=True)
class Origin:
    """`is_model`: it begins what was compiled and has parameters. `reason`: why Dynamo compiled it
    again, "" the first time."""

    name: str
    is_model: bool = False
    reason: str = ""

    def part(self, kind: str) -> Origin:
        """That of one of the graphs that AOTAutograd makes: forward, backward or inference."""
        return self if kind == "inference" else replace(self, name=f"{self.name} {kind}")


def of_current_compile(
    module: fx.GraphModule, example_inputs: Sequence[Any], model_name: str
) -> Origin:
    """Of the graph that Dynamo hands over. The name is the model's, its class's or the function's,
    with Dynamo's compile id, as in its logs: "GPT [0/1]"."""
    function = _function()
    name = model_name or _module_class(module) or function.removeprefix(_RESUMED) or "graph"
    identifier = CompileContext.current_compile_id()
    if identifier is not None:
        name += f" [{identifier}]"
    reason = get_metrics_context()._metrics.get("recompile_reason")
    has_parameters = any(isinstance(x, torch.nn.Parameter) for x in example_inputs)
    is_model = has_parameters and not function.startswith(_RESUMED)
    return Origin(name, is_model, reason or "")


def _function() -> str:
    try:
        return str(InstructionTranslator.current_tx().output.root_tx.f_code.co_name)
    except AttributeError:
        return ""


def _module_class(module: fx.GraphModule) -> str:
    """The class of the outermost module that all of the graph is in, "" if there is none."""
    calls = [n for n in module.graph.nodes if n.op not in ("placeholder", "output", "get_attr")]
    stacks = [list((n.meta.get("nn_module_stack") or {}).values()) for n in calls]
    if not stacks or not all(stacks) or len({stack[0] for stack in stacks}) > 1:
        return ""
    kind = stacks[0][0][1]
    return str(kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]


def line_of(node: fx.Node) -> str:
    """ "file.py:12: code" of the user's line that made a node, "" where it is not known."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return ""
    frame = frames[-1]
    return f"{frame['file']}:{frame['line']}: {frame['code'].strip()}"
