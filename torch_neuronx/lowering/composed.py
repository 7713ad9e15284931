"""PyTorch's own custom ops whose kernels are Python over ATen ops: the kernels as decompositions.

They are ops of their own for the sake of other backends. Their modules are not imported here: who
calls one has done so. Called by the backend of torch.compile and by `definition`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch._ops import OpOverload


def varlen() -> dict[OpOverload, Callable[..., Any]]:
    """Attention of packed documents: the flash attention ops."""
    return _kernels("torch.nn.attention.varlen", "_varlen_attn", "_varlen_attn_backward")


def scatters() -> dict[OpOverload, Callable[..., Any]]:
    """The gradient of what a score_mod reads, an op with a batching rule of its own: it is for
    graphs that torch.vmap has been through."""
    return _kernels("torch._dynamo._trace_wrapped_higher_order_op", "zeros_and_scatter")


def _kernels(module: str, *names: str) -> dict[OpOverload, Callable[..., Any]]:
    if module not in sys.modules:
        return {}
    ops = [getattr(sys.modules[module], name) for name in names]
    return {op._opoverload: op._init_fn for op in ops}
