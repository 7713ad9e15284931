"""What besides a call changes its program: part of every key. Called by `eager` and `compile`."""

import torch


def lowering_flags() -> bytes:
    """Currently the float32 matmul precision."""
    return torch.get_float32_matmul_precision().encode()
