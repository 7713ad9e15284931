"""What besides a call changes its program: part of every key. Called by `eager` and `compile`."""

import torch

from torch_neuronx.lowering.registry import foreign_rules
from torch_neuronx.runtime import platforms


def lowering_flags() -> bytes:
    """The float32 matmul precision, the dtype of a float among integers, rules of the user's, and
    whether the platform's programs can call kernels."""
    flags = (
        torch.get_float32_matmul_precision(),
        torch.get_default_dtype(),
        foreign_rules(),
        platforms.runs_kernels(),
    )
    return " ".join(map(str, flags)).encode()
