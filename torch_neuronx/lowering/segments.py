"""Rules of reductions over segments, hashes and histograms of many dimensions: CPU kernels."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import kernels
from torch_neuronx.lowering.registry import infers

aten = torch.ops.aten

kernels.runs_kernel(aten.hash_tensor.default, may_fail=False)
kernels.runs_kernel(
    aten.segment_reduce.default,
    aten._segment_reduce_backward.default,
    aten._histogramdd_bin_edges.default,
    aten._histogramdd_from_bin_cts.default,
    aten._histogramdd_from_bin_tensors.default,
)


def _in_one_segment(data, reduce, *, lengths=None, offsets=None, axis=0, **rest):
    """The call with everything in the last segment, which is valid whatever the data is."""
    size = data.shape[axis]
    if lengths is not None:
        lengths = torch.zeros_like(lengths)
        lengths[..., -1:] = size
    if offsets is not None:
        offsets = torch.zeros_like(offsets)
        offsets[..., -1:] = size
    op = aten.segment_reduce.default
    return op(data, reduce, lengths=lengths, offsets=offsets, axis=axis, **rest)


@infers(aten.segment_reduce.default, cpu_form=_in_one_segment)
def _segment_reduce(data, reduce, *, lengths=None, offsets=None, axis=0, **rest):
    """A number for each segment, whose count the sizes of `lengths` or `offsets` tell."""
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce needs lengths or offsets")
    segments = offsets.shape[axis] - 1 if lengths is None else lengths.shape[axis]
    return data.new_empty((*data.shape[:axis], segments, *data.shape[axis + 1 :]))
