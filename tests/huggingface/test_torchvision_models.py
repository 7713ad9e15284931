"""torchvision's models: classification, segmentation and detection, trained and not."""

import pytest
import torch
from roundings import close

import torch_neuronx

torchvision = pytest.importorskip("torchvision")
from torchvision import models  # noqa: E402

SIZE = 64


def build(name, **options):
    torch.manual_seed(0)
    return models.get_model(name, weights=None, **options)


def images(count=2, size=SIZE):
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(1))


def vision_transformer(**options):
    return models.VisionTransformer(SIZE, 16, 2, 2, hidden_dim=32, mlp_dim=64, **options)


def swin(**options):
    sizes = {"patch_size": [4, 4], "window_size": [4, 4], "embed_dim": 24}
    return models.SwinTransformer(**sizes, depths=[2, 2], num_heads=[2, 4], **options)


# The longest path's products: of a convolution or a projection, channels times taps, times layers.
CLASSIFIERS = {
    "resnet18": (models.resnet18, 17 * 9 * 256),
    "vit": (vision_transformer, 2 * 6 * 64),
    "swin": (swin, 4 * 6 * 96),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_sees_what_it_sees_on_the_cpu(name):
    function, terms = CLASSIFIERS[name]
    torch.manual_seed(0)
    model = function(num_classes=5).eval()
    with torch.no_grad():
        want = model(images())
        model.to("neuron")
        with torch_neuronx.no_fallback():
            close(model(images().to("neuron")), want, terms)


def step(device):
    """Loss, and what batch normalisation learnt, of a training step."""
    model = build("resnet18", num_classes=5).to(device).train()
    loss = torch.nn.functional.cross_entropy(
        model(images().to(device)), torch.tensor([1, 3], device=device)
    )
    loss.backward()
    gradients = [p.grad for p in model.fc.parameters()]
    return [loss, model.bn1.running_mean, model.layer1[0].bn1.running_var, *gradients]


def test_a_training_step():
    wants = step("cpu")
    with torch_neuronx.no_fallback():
        gots = step("neuron")
    for got, want in zip(gots, wants, strict=True):
        close(got, want, CLASSIFIERS["resnet18"][1])


def test_segmentation():
    model = build("lraspp_mobilenet_v3_large", num_classes=4, weights_backbone=None).eval()
    with torch.no_grad():
        want = model(images())["out"]
        model.to("neuron")
        with torch_neuronx.no_fallback():
            close(model(images().to("neuron"))["out"], want, 50 * 200)


def detector(**options):
    return build(
        "fasterrcnn_mobilenet_v3_large_320_fpn",
        num_classes=3,
        weights_backbone=None,
        min_size=SIZE,
        max_size=SIZE,
        **options,
    )


def test_a_detector_finds_what_it_finds_on_the_cpu():
    few = {"rpn_pre_nms_top_n_test": 50, "box_score_thresh": 0.0, "box_detections_per_img": 10}
    model = detector(**few).eval()
    with torch.no_grad():
        (want,) = model([images()[0]])
        model.to("neuron")
        with torch_neuronx.no_fallback():
            (got,) = model([images().to("neuron")[0]])
    assert len(want["boxes"]) > 0
    assert got["labels"].tolist() == want["labels"].tolist()
    close(got["scores"], want["scores"], 50 * 200)
    close(got["boxes"], want["boxes"], 50 * 200)


def targets(device):
    boxes = torch.tensor([[4.0, 6.0, 30.0, 40.0], [20.0, 10.0, 50.0, 60.0]], device=device)
    return [{"boxes": boxes, "labels": torch.tensor([1, 2], device=device)}]


def losses(device):
    model = detector()
    # Batches of all proposals, for which are picked is random.
    model.rpn.fg_bg_sampler.batch_size_per_image = 10**6
    model.roi_heads.fg_bg_sampler.batch_size_per_image = 10**6
    model.to(device).train()
    found = model([images()[0].to(device)], targets(device))
    sum(found.values()).backward()
    found["gradient"] = model.roi_heads.box_predictor.cls_score.weight.grad
    return found


def test_a_detector_learns_as_on_the_cpu():
    wants = losses("cpu")
    with torch_neuronx.no_fallback():
        gots = losses("neuron")
    assert gots.keys() == wants.keys()
    for name, want in wants.items():
        close(gots[name], want, 50 * 200)
