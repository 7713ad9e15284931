"""Where a graph comes from: the function that Dynamo compiles, and the user's lines of its nodes.

Reads what Dynamo knows during a compile; without Dynamo (an exported program, a test) there are
only names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import fx
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.utils import get_metrics_context
from torch._guards import CompileContext

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in .*\n(?P<code>.*)')
_RESUMED = "torch_dynamo_resume_in_"


@dataclass(frozen=True)
class Origin:
    """`continues`: the rest of a function after a graph break. `reason`: why Dynamo compiled it
    again, "" the first time."""

    name: str
    continues: bool = False
    reason: str = ""


def of_current_compile(kind: str, model_name: str) -> Origin:
    """kind: "forward", "backward" or "inference". The name has Dynamo's compile id where there is
    one, as its logs do: "forward [0/1] backward"."""
    function = _function()
    identifier = CompileContext.current_compile_id()
    name = model_name or function.removeprefix(_RESUMED) or "graph"
    if identifier is not None:
        name += f" [{identifier}]"
    if kind != "inference":
        name += f" {kind}"
    reason = get_metrics_context()._metrics.get("recompile_reason")
    return Origin(name, function.startswith(_RESUMED), reason or "")


def _function() -> str:
    try:
        return InstructionTranslator.current_tx().output.root_tx.f_code.co_name
    except AttributeError:
        return ""


def line_of(node: fx.Node) -> str:
    """ "file.py:12: code" of the user's line that made a node, "" where it is not known."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return ""
    frame = frames[-1]
    return f"{frame['file']}:{frame['line']}: {frame['code'].strip()}"
