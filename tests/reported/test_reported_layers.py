"""Reported failures of convolution, pooling, norms and losses (rows 60 to 65)."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device as agree
from agreement import on, random

DEVICE = "neuron"


def test_60_first_layers_of_a_resnet():
    def program(device):
        torch.manual_seed(0)
        layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU()
        ).to(device)
        x = on(device, random(1, 3, 64, 256)).requires_grad_()
        layers(x).square().mean().backward()
        return (
            x.grad,
            *(p.grad for p in layers.parameters()),
            layers[1].running_mean,
            layers[1].running_var,
        )

    agree(program, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_61_transposed_convolution(groups):
    def program(device):
        x = on(device, random(2, 4, 5, 5)).requires_grad_()
        w = on(device, random(4, 6 // groups, 4, 4, seed=1)).requires_grad_()
        out = F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=groups)
        return out, *torch.autograd.grad(out.square().mean(), (x, w))

    agree(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 2, 4, 16, 64, 256])
def test_62_small_cnn(batch):
    def program(device):
        torch.manual_seed(0)
        conv = torch.nn.Conv2d
        model = torch.nn.Sequential(
            conv(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            conv(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(), torch.nn.Linear(32, 10),
        ).to(device)  # fmt: skip
        out = model(on(device, random(batch, 3, 16, 16)))
        out.square().mean().backward()
        return out, model[0].weight.grad

    agree(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (17, 4), (257, 65)])
@pytest.mark.parametrize("diagonal", [-3, 0, 3])
def test_63_tril(shape, diagonal):
    agree(lambda device: on(device, random(*shape)).tril(diagonal))


@pytest.mark.parametrize("width", [1, 3, 50257])
def test_63_softmax_widths(width):
    agree(lambda device: on(device, random(2, width)).softmax(-1))


@pytest.mark.parametrize("batch", [1, 4])
def test_64_shifted_windows(batch):
    def program(device):
        x = on(device, random(batch, 8, 8, 6)).roll((-2, -2), (1, 2))
        windows = x.view(batch, 2, 4, 2, 4, 6).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 6)
        attended = (windows @ windows.transpose(-2, -1)).softmax(-1) @ windows
        back = attended.view(batch, 2, 2, 4, 4, 6).permute(0, 1, 3, 2, 4, 5).reshape(batch, 8, 8, 6)
        return back.roll((2, 2), (1, 2))

    agree(program)


def test_64_grouped_convolution_with_weight_norm():
    def program(device):
        torch.manual_seed(0)
        conv = torch.nn.Conv1d(8, 8, 4, padding=2, groups=2)
        conv = torch.nn.utils.parametrizations.weight_norm(conv, dim=2).to(device)
        out = conv(on(device, random(2, 8, 10)))
        out.square().mean().backward()
        return out, *(p.grad for p in conv.parameters())

    agree(program, rtol=1e-4, atol=1e-5)


def test_64_bicubic():
    def program(device):
        x = on(device, random(1, 2, 6, 6)).requires_grad_()
        out = F.interpolate(x, size=(9, 5), mode="bicubic", align_corners=False)
        return out, torch.autograd.grad(out.square().sum(), x)[0]

    agree(program, rtol=1e-4, atol=1e-5)


def test_65_norms_of_an_empty_batch():
    def program(device):
        x = torch.empty(0, 4, 3, 3).to(device)
        return torch.nn.GroupNorm(2, 4).to(device)(x), torch.nn.BatchNorm2d(4).eval().to(device)(x)

    agree(program)


def test_65_ctc_loss():
    def program(device):
        logits = on(device, random(12, 2, 5)).log_softmax(-1).requires_grad_()
        targets = torch.tensor([[1, 2, 2], [3, 4, 0]], device=device)
        loss = F.ctc_loss(logits, targets, torch.tensor([12, 10]), torch.tensor([3, 2]))
        return loss, torch.autograd.grad(loss, logits)[0]

    agree(program, rtol=1e-4, atol=1e-5)


def test_65_fold_and_unfold():
    def program(device):
        patches = F.unfold(on(device, random(1, 2, 6, 6)), 3, padding=1, stride=2)
        return patches, F.fold(patches, (6, 6), 3, padding=1, stride=2)

    agree(program)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_65_cross_entropy(smoothing, reduction):
    def program(device):
        logits = on(device, random(4, 5)).requires_grad_()
        target = torch.tensor([1, -100, 4, 0], device=device)
        weight = torch.arange(1.0, 6.0, device=device)
        loss = F.cross_entropy(
            logits, target, weight, reduction=reduction, label_smoothing=smoothing
        )
        return loss, torch.autograd.grad(loss.sum(), logits)[0]

    agree(program)


def test_65_all_targets_ignored():
    def program(device):
        target = torch.full((3,), -100, device=device)
        return F.nll_loss(on(device, random(3, 4)), target, reduction="mean")

    assert agree(program).isnan()


def test_65_target_out_of_bounds():
    with pytest.raises(IndexError, match="out of bounds"):
        F.nll_loss(on(DEVICE, random(2, 4)), torch.tensor([1, 7], device=DEVICE))


def test_65_in_place_overlap_is_refused():
    x = on(DEVICE, random(3, 1)).expand(3, 4)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(1)
    y = on(DEVICE, random(6))
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(y[:-1], 1, out=y[1:])
