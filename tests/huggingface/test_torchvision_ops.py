"""torchvision's operators on boxes and regions give the CPU's results and gradients."""

import pytest
import torch
from agreement import agree, on_device, refused, same

import torch_neuronx
from torch_neuronx import _C
from torch_neuronx.runtime import platforms

torchvision = pytest.importorskip("torchvision")
from torchvision import ops  # noqa: E402


@pytest.fixture(autouse=True)
def _on_the_device():
    with torch_neuronx.no_fallback():
        yield


def boxes(count, size=16.0, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    low = torch.rand(count, 2, generator=generator) * size / 2
    return torch.cat([low, low + 1 + torch.rand(count, 2, generator=generator) * size / 2], 1).to(
        dtype
    )


def scores(count, seed=1):
    return torch.rand(count, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [0, 1, 7, 200])
def test_nms_keeps_what_the_cpu_keeps(count, dtype):
    for threshold in (0.0, 0.3, 1.0):
        agree(
            lambda b, s, t=threshold: ops.nms(b, s, t),
            boxes(count, dtype=dtype),
            scores(count).to(dtype),
        )


def test_nms_of_equal_scores_views_and_what_is_not_finite():
    b = boxes(40)
    agree(lambda b, s: ops.nms(b[::2], s[:20] * 0, 0.4), b, scores(40))
    b[3, 2], b[5] = torch.inf, torch.nan
    s = scores(40)
    s[7] = torch.nan
    agree(lambda b, s: ops.nms(b, s, 0.4), b, s)


def test_a_threshold_and_other_boxes_compile_nothing():
    ops.nms(boxes(30).to("neuron"), scores(30).to("neuron"), 0.5)
    before = torch_neuronx.cache_info().requests
    for seed, threshold in ((2, 0.1), (3, 0.7)):
        ops.nms(boxes(30, seed=seed).to("neuron"), scores(30).to("neuron"), threshold)
    assert torch_neuronx.cache_info().requests == before


def test_batched_nms():
    labels = torch.arange(60) % 3
    agree(lambda b, s, i: ops.batched_nms(b, s, i, 0.3), boxes(60), scores(60), labels)


def test_nms_refuses_what_the_cpu_refuses():
    refused(lambda b, s: ops.nms(b, s, 0.5), boxes(4)[:, :3], scores(4))
    refused(lambda b, s: ops.nms(b, s, 0.5), boxes(4), scores(5))
    refused(lambda b, s: ops.nms(b, s, 0.5), boxes(4), scores(4)[None])


def rois(count=5, images=2):
    index = torch.arange(count).remainder(images).float()[:, None]
    return torch.cat([index, boxes(count)], 1)


REGIONS = {
    "roi_align": lambda x, r: ops.roi_align(x, r, (3, 2), 0.5, sampling_ratio=2),
    "roi_align, as many samples as a region needs": lambda x, r: ops.roi_align(
        x, r, 2, aligned=True
    ),
    "roi_pool": lambda x, r: ops.roi_pool(x, r, (3, 2), 0.5),
    "ps_roi_align": lambda x, r: ops.ps_roi_align(x, r, 2, 0.5),
    "ps_roi_pool": lambda x, r: ops.ps_roi_pool(x, r, 2, 0.5),
}


def with_gradient(fn):
    def run(x, *others):
        tensors = [t.detach().requires_grad_(t.is_floating_point()) for t in (x, *others)]
        y = fn(*tensors)
        weight = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape).to(y.device)
        (y * weight).sum().backward()
        return y, [t.grad for t in tensors if t.grad is not None]

    return run


@pytest.mark.parametrize("name", REGIONS)
def test_pooling_of_regions_and_its_gradient(name):
    x = torch.randn(2, 8, 10, 12)
    fn = REGIONS[name]
    agree(with_gradient(lambda x, r: fn(x, r.detach())), x, rois(), strides=False)
    agree(lambda x, r: fn(x, r), x, rois(0), strides=False)
    agree(lambda x, r: fn(x[:, :, ::2].transpose(2, 3), r), x, rois(), strides=False)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("samples", [-1, 3])
def test_roi_align_where_no_kernel_can_be_called(monkeypatch, samples, aligned):
    monkeypatch.setattr(platforms, "runs_kernels", lambda: False)
    _C.clear_programs()
    r = rois()
    r[1, 1:], r[2, 1:] = torch.tensor([-9.0, -3, 40, 50]), torch.tensor([5.0, 5, 5, 5])
    x, rows = torch.randn(2, 3, 10, 12), 4 * 10 + 4 * 12
    # Sums over rows and columns, and in the gradient over the bins of all regions.
    tolerance = dict.fromkeys(("rtol", "atol"), rows * 5 * 6 * torch.finfo(torch.float32).eps)

    def align(x, r):
        return ops.roi_align(x, r.detach(), (3, 2), 0.5, samples, aligned)

    try:
        agree(with_gradient(align), x, r, strides=False, **tolerance)
    finally:
        _C.clear_programs()


def test_regions_given_per_image():
    x = torch.randn(2, 3, 8, 8)
    agree(lambda x, a, b: ops.roi_align(x, [a, b], 2), x, boxes(2), boxes(3, seed=4), strides=False)
    agree(
        ops.MultiScaleRoIAlign(["a"], 2, 2).forward, {"a": x}, [boxes(2), boxes(3)], [(16, 16)] * 2
    )


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
def test_deformable_convolution_and_its_gradient(groups, masked):
    x, offset = torch.randn(2, 4, 6, 7), torch.randn(2, 2 * groups * 9, 6, 7)
    weight, bias = torch.randn(6, 4 // groups, 3, 3), torch.randn(6)
    mask = torch.rand(2, groups * 9, 6, 7) if masked else torch.empty(0)

    def convolve(x, offset, weight, bias, mask):
        return ops.deform_conv2d(
            x, offset, weight, bias, padding=1, mask=mask if mask.numel() else None
        )

    tolerance = {"rtol": 36 * 2 * torch.finfo(torch.float32).eps * 42, "atol": 1e-5}
    agree(with_gradient(convolve), x, offset, weight, bias, mask, strides=False, **tolerance)


def test_regions_are_refused_as_on_the_cpu():
    x = torch.randn(2, 3, 8, 8)
    refused(lambda x, r: torch.ops.torchvision.roi_align(x, r, 1.0, 2, 2, 2, False), x, boxes(3))
    refused(lambda x, r: ops.roi_align(x, r, 2), x, rois().double())


def test_autocast_computes_in_float32():
    """As torchvision does on CUDA: the features may be bfloat16 beside boxes of float32."""
    x, r = torch.randn(2, 3, 8, 8).bfloat16(), rois()
    want = ops.roi_align(x.float(), r, 2, sampling_ratio=2).bfloat16()
    kept = ops.nms(boxes(30).bfloat16().float(), scores(30), 0.3)
    with torch.autocast("neuron", torch.bfloat16):
        got = ops.roi_align(x.to("neuron"), r.to("neuron"), 2, sampling_ratio=2)
        ours = ops.nms(boxes(30).bfloat16().to("neuron"), scores(30).to("neuron"), 0.3)
    same(got, want)
    same(ours, kept)


BOXES = {
    "box_iou": lambda a, b: ops.box_iou(a, b),
    "generalized_box_iou": lambda a, b: ops.generalized_box_iou(a, b),
    "complete_box_iou": lambda a, b: ops.complete_box_iou(a, b),
    "clip": lambda a, b: ops.clip_boxes_to_image(a, (9, 10)),
    "small": lambda a, b: ops.remove_small_boxes(a, 4.0),
    "convert": lambda a, b: ops.box_convert(a, "xyxy", "cxcywh"),
    "area": lambda a, b: ops.box_area(a),
    "loss": lambda a, b: ops.complete_box_iou_loss(a, b[:7], reduction="mean"),
    "masks": lambda a, b: ops.masks_to_boxes(a[:, None] > b[None, :4, :1] + 2),
    "focal": lambda a, b: ops.sigmoid_focal_loss(a, (b[:7] > 5).float()),
}


@pytest.mark.parametrize("name", BOXES)
def test_arithmetic_of_boxes(name):
    agree(BOXES[name], boxes(7), boxes(9, seed=2), strides=False)


def test_graphs_hold_regions_and_break_where_boxes_are_counted():
    def detect(x, b, s):
        kept = ops.nms(b, s * 2, 0.4)
        return ops.roi_align(x, [b[kept]], 2, sampling_ratio=2) + 1

    x, b, s = torch.randn(1, 2, 16, 16), boxes(20), scores(20)
    got = torch.compile(detect, backend="neuron")(*map(on_device, (x, b, s)))
    torch.testing.assert_close(got.cpu(), detect(x, b, s))
