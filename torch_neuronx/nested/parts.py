"""What the kernels of strided nested tensors share: their buffer, and tensors like another one.

Sizes, strides and offsets of a nested tensor are tensors on the CPU, so reading them waits for
nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

aten = torch.ops.aten


def buffer(x: Tensor) -> Tensor:
    """The values of all items one after the other, 1-d."""
    return aten.values(x if x.is_contiguous() else x.contiguous())


def sizes(x: Tensor) -> Tensor:
    """int64[items, dims], on the CPU."""
    return aten._nested_tensor_size(x)


def made(values: Tensor, shapes: Tensor) -> Tensor:
    """A contiguous nested tensor of items of these shapes, int64[items, dims], from a buffer."""
    ones = shapes.new_ones(shapes.shape[0], 1)
    strides = torch.cat([shapes[:, 1:].flip(1).cumprod(1).flip(1), ones], 1)
    count = shapes.prod(1)
    return aten._nested_view_from_buffer(
        values.reshape(-1), shapes, strides, count.cumsum(0) - count
    )


def padded(x: Tensor) -> tuple[Tensor, Tensor]:
    """[items, longest, ...] filled up with zeros, and bool[items, longest], true where filled."""
    length = sizes(x)[:, 0]
    values = aten.to_padded_tensor(x, 0.0)
    place = torch.arange(values.shape[1], device=values.device)
    return values, place >= length.to(values.device).unsqueeze(1)


def unpadded(values: Tensor, like: Tensor) -> Tensor:
    """The items of `like`'s lengths in a padded batch."""
    lengths = sizes(like)[:, 0].tolist()
    rows = torch.cat([values[i, :length] for i, length in enumerate(lengths)])
    shapes = torch.tensor([[length, *values.shape[2:]] for length in lengths])
    return made(rows, shapes)
