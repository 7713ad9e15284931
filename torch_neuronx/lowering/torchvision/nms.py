"""Non-maximum suppression: of boxes that overlap, those with the highest scores.

Greedy, as in torchvision/csrc/ops/cpu/nms_kernel.cpp: boxes are visited by falling score, and each
that is still there drops the later ones whose intersection over union with it is above a
threshold. The visits are a loop on the device; a visit computes its box's overlaps with all others,
so memory grows with the number of boxes, not with its square.
"""

from __future__ import annotations

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.addressing import take_flat
from torch_neuronx.lowering.cast import compute_dtype
from torch_neuronx.lowering.counted import Counted, masked
from torch_neuronx.lowering.index import index_dtype
from torch_neuronx.lowering.ordering import sort_order
from torch_neuronx.lowering.registry import bounds, lowers
from torch_neuronx.lowering.value import Value

_nms = torch.ops.torchvision.nms.default


@bounds(_nms)
def _bounds(boxes, scores, iou_threshold):
    """Every box may be kept. The checks are those of the CPU kernel."""
    torch._check(boxes.dim() == 2, lambda: f"boxes should be a 2d tensor, got {boxes.dim()}D")
    torch._check(
        boxes.size(1) == 4,
        lambda: f"boxes should have 4 elements in dimension 1, got {boxes.size(1)}",
    )
    torch._check(scores.dim() == 1, lambda: f"scores should be a 1d tensor, got {scores.dim()}D")
    torch._check(
        boxes.size(0) == scores.size(0),
        lambda: (
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{boxes.size(0)} and {scores.size(0)}"
        ),
    )
    return boxes.new_empty(boxes.size(0), dtype=torch.int64)


@lowers(_nms, runtime=("iou_threshold",))
def _lower_nms(out, boxes, scores, iou_threshold):
    """int64[kept]: the indices of the boxes that stay, by falling score."""
    count = boxes.shape[0]
    if not count:
        return hlo.full(out.shape, 0, out.dtype)
    order = sort_order(scores, True) if count > 1 else hlo.full((1,), 0, torch.int64)
    table = hlo.convert(boxes, compute_dtype(boxes.dtype))
    columns = [hlo.reshape(hlo.slice_dim(table, 1, i, i + 1), (count,)) for i in range(4)]
    corners = [take_flat(column, order) for column in columns]
    kept = masked(_kept(corners, hlo.number(iou_threshold, torch.float64)), (count,))
    return Counted(kept.pack(order).value, kept.size)


def _kept(corners: list[Value], threshold: Value) -> Value:
    """bool[N] of boxes in the order of their scores."""
    (count,) = corners[0].shape
    dtype = index_dtype(count)
    x1, y1, x2, y2 = corners
    area = (x2 - x1) * (y2 - y1)

    def visit(i, kept, threshold, area, *corners):
        def here(values):
            return hlo.broadcast_to(hlo.dynamic_slice(values, [i], (1,)), values.shape)

        mine = [here(values) for values in corners]
        low = [hlo.max(a, b) for a, b in zip(mine[:2], corners[:2], strict=True)]
        high = [hlo.min(a, b) for a, b in zip(mine[2:], corners[2:], strict=True)]
        width, height = (
            hlo.max(hlo.full(h.shape, 0, h.dtype), h - lo) for lo, h in zip(low, high, strict=True)
        )
        common = width * height
        overlap = hlo.convert(common / (here(area) + area - common), torch.float64)
        dropped = (overlap > hlo.broadcast_to(threshold, overlap.shape)) & (
            hlo.iota((count,), 0, dtype) > hlo.broadcast_to(i, (count,))
        )
        return [i + 1, kept & hlo.not_(here(kept) & dropped), threshold, area, *corners]

    state = [hlo.full((), 0, dtype), hlo.full((count,), True, torch.bool), threshold, area]
    return hlo.while_([*state, *corners], lambda i, *_: i < count, visit)[1]
