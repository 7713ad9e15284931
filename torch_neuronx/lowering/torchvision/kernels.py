"""torchvision's other operators on regions, and deformable convolution: its own CPU kernels.

Programs call them; where they cannot, these operators run on the host.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering.kernels import runs_kernel

_NAMES = (
    "roi_pool",
    "_roi_pool_backward",
    "ps_roi_align",
    "_ps_roi_align_backward",
    "ps_roi_pool",
    "_ps_roi_pool_backward",
    "deform_conv2d",
    "_deform_conv2d_backward",
)

# What they refuse depends on shapes and dtypes, which are known, and refused, before they run.
for _name in _NAMES:
    runs_kernel(getattr(torch.ops.torchvision, _name).default, may_fail=False)
