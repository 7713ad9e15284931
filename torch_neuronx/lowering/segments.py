"""Rules of reductions over segments, hashes and histograms of many dimensions: CPU kernels."""

from __future__ import annotations

import torch

from torch_neuronx.lowering import kernels

aten = torch.ops.aten

kernels.runs_kernel(aten.hash_tensor.default, may_fail=False)
kernels.runs_kernel(
    aten.segment_reduce.default,
    aten._segment_reduce_backward.default,
    aten._histogramdd_bin_edges.default,
    aten._histogramdd_from_bin_cts.default,
    aten._histogramdd_from_bin_tensors.default,
)
