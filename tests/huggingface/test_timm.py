"""timm's models, optimizers, mixup and moving averages work as on the CPU."""

import pytest
import torch
from roundings import close

import torch_neuronx

timm = pytest.importorskip("timm")
from timm.data import Mixup  # noqa: E402
from timm.optim import create_optimizer_v2  # noqa: E402
from timm.utils import ModelEmaV3  # noqa: E402

SIZE, CLASSES = 32, 5
# Of each family a small one, with what makes it smaller still, and the products on its longest
# path: taps or channels of a layer, times layers.
FAMILIES = {
    "resnet10t": ({}, 12 * 9 * 256),
    "tinynet_e": ({}, 30 * 200),  # of EfficientNet's
    "mobilenetv4_conv_small_050": ({}, 30 * 400),
    "vit_tiny_patch16_224": ({"img_size": SIZE, "depth": 2, "embed_dim": 48}, 2 * 6 * 48),
    "swin_tiny_patch4_window7_224": (
        {
            "img_size": SIZE,
            "window_size": 4,
            "depths": (1, 1),
            "num_heads": (2, 4),
            "embed_dim": 32,
        },
        2 * 6 * 64,
    ),
    "convnext_atto": ({"depths": (1, 1, 1, 1), "dims": (16, 32, 32, 64)}, 4 * 5 * 64),
    "mixer_s32_224": ({"img_size": SIZE}, 8 * 4 * 512),
    "regnetx_002": ({}, 13 * 9 * 24 + 13 * 2 * 368),
}
TRAINED = ("vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "convnext_atto")


def build(name):
    torch.manual_seed(0)
    return timm.create_model(name, pretrained=False, num_classes=CLASSES, **FAMILIES[name][0])


def batch(count=4):
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(count, 3, SIZE, SIZE, generator=generator)
    return images, torch.arange(count) % CLASSES


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_sees_as_on_the_cpu(name):
    model, (images, _) = build(name).eval(), batch()
    with torch.no_grad():
        want = model(images)
        model.to("neuron")
        with torch_neuronx.no_fallback():
            close(model(images.to("neuron")), want, FAMILIES[name][1])


@pytest.mark.parametrize("name", TRAINED)
def test_a_family_learns_as_on_the_cpu(name):
    """The gradient of the first weight tells of all that is behind it. Nothing is dropped."""
    images, labels = batch()

    def gradient(device):
        model = build(name).eval().to(device)
        loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        return next(p.grad for p in model.parameters() if p.grad is not None)

    want = gradient("cpu")
    with torch_neuronx.no_fallback():
        got = gradient("neuron")
    scale = want.abs().max()
    close(got.cpu() / scale, want / scale, 2 * FAMILIES[name][1])


def small(device):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(
        device
    )


OPTIMIZERS = ("sgdw", "adamw", "nadamw", "lamb", "lion", "adafactor", "adan", "madgrad", "laprop")
STEPS = 3


def optimised(name, device):
    model = small(device)
    optimizer = create_optimizer_v2(model, opt=name, lr=1e-2, weight_decay=0.05)
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(2)).to(device)
    for _ in range(STEPS):
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return list(model.parameters())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_steps_as_on_the_cpu(name):
    wants = optimised(name, "cpu")
    with torch_neuronx.no_fallback():
        gots = optimised(name, "neuron")
    for got, want in zip(gots, wants, strict=True):
        # A step divides by a root of the gradient's square: of small ones errors grow.
        close(got, want, STEPS * 2 * (6 + 8) * 10)


def test_mixup_and_cutmix():
    images, labels = batch(4)

    def mixed(device, **options):
        import numpy

        numpy.random.seed(3)
        mixup = Mixup(num_classes=CLASSES, label_smoothing=0.1, prob=1.0, **options)
        return mixup(images.clone().to(device), labels.to(device))

    for options in (
        {"mixup_alpha": 0.8, "cutmix_alpha": 0},
        {"mixup_alpha": 0, "cutmix_alpha": 1.0},
    ):
        wants = mixed("cpu", **options)
        with torch_neuronx.no_fallback():
            gots = mixed("neuron", **options)
        for got, want in zip(gots, wants, strict=True):
            assert got.device.type == "neuron"
            close(got, want, 4)


def test_a_moving_average_of_weights():
    def averaged(device):
        model = small(device)
        average = ModelEmaV3(model, decay=0.9)
        for _ in range(STEPS):
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(1.0)
            average.update(model)
        return list(average.module.parameters())

    wants = averaged("cpu")
    with torch_neuronx.no_fallback():
        gots = averaged("neuron")
    for got, want in zip(gots, wants, strict=True):
        close(got, want, 2 * STEPS)


def test_augmentations_of_torchvision_on_the_device():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    images, _ = batch(2)
    steps = v2.Compose(
        [
            v2.Resize(40, antialias=True),
            v2.CenterCrop(SIZE),
            v2.RandomHorizontalFlip(1.0),
            v2.ToDtype(torch.float32),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    with torch_neuronx.no_fallback():
        got = steps(images.to("neuron"))
    assert got.device.type == "neuron"
    close(got, steps(images), 4 * 4 * 4)  # four taps in each direction, divided by a quarter
