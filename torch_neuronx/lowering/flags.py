"""What besides a call changes its program: part of every key. Called by `eager` and `compile`."""

import torch


def lowering_flags() -> bytes:
    """The float32 matmul precision, and the dtype of a float among integers."""
    return f"{torch.get_float32_matmul_precision()} {torch.get_default_dtype()}".encode()
