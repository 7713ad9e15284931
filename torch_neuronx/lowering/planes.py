"""Reading and adding at positions within a plane: the last dimension of a value, one plane per row.

Called by pooling, unpooling and grid sampling, whose positions differ from plane to plane.
"""

from __future__ import annotations

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import flatten, linear, put_flat, take_flat


def gather_planes(planes, index):
    """planes[..., P] at index[..., Q] (leading dimensions broadcast) -> [..., Q]."""
    index = _per_plane(planes, index)
    return take_flat(flatten(planes), linear(index, planes.shape, planes.ndim - 1))


def scatter_planes(planes, index, updates, combiner: str):
    """planes[..., P] with updates[..., Q] folded in at index[..., Q]; those past P are dropped."""
    index = linear(_per_plane(planes, index), planes.shape, planes.ndim - 1)
    return hlo.reshape(put_flat(flatten(planes), index, updates, combiner), planes.shape)


def _per_plane(planes, index):
    return hlo.broadcast_to(index, (*planes.shape[:-1], index.shape[-1]))
