"""Interpolation and grid sampling, with gradients, agree with the CPU in all modes and scales."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, compiling

X1, X2, X3 = torch.randn(2, 3, 7), torch.randn(2, 3, 5, 7), torch.randn(2, 3, 3, 4, 5)
BYTES = torch.randint(0, 256, (2, 3, 5, 7), dtype=torch.uint8)
MODES = [
    (X1, "nearest"), (X2, "nearest"), (X3, "nearest"),
    (X1, "nearest-exact"), (X2, "nearest-exact"), (X3, "nearest-exact"),
    (X1, "linear"), (X2, "bilinear"), (X3, "trilinear"), (X2, "bicubic"),
]  # fmt: skip


def value_and_gradient(interpolate):
    def both(x):
        x = x.detach().requires_grad_()
        y = interpolate(x)
        slope = torch.linspace(-1, 1, y.numel(), device=y.device).view(y.shape).to(y.dtype)
        return y.detach(), torch.autograd.grad(y, x, slope)[0]

    return both


@pytest.mark.parametrize("scale", [0.6, 1.7, 2.0])
@pytest.mark.parametrize(
    ("x", "mode"), MODES, ids=lambda v: v if isinstance(v, str) else f"{v.ndim - 2}d"
)
def test_scales(x, mode, scale):
    agree(
        value_and_gradient(lambda x: F.interpolate(x, scale_factor=scale, mode=mode)),
        x,
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(4, 6), (11, 3), (1, 1)], ids=str)
def test_sizes(size, align, mode):
    def resize(x):
        return F.interpolate(x, size, mode=mode, align_corners=align)

    agree(value_and_gradient(resize), X2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (2, 14)], ids=str)
def test_antialiased(size, mode):
    def resize(x):
        return F.interpolate(x, size, mode=mode, antialias=True)

    agree(value_and_gradient(resize), X2, rtol=1e-4, atol=1e-5)
    agree(resize, BYTES)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_bytes_bfloat16_and_channels_last(mode):
    def resize(x):
        return F.interpolate(x, (8, 9), mode=mode)

    with compiling(False):  # PyTorch's decomposition of the bilinear mode rounds bytes otherwise
        agree(resize, BYTES)
    agree(resize, X2.bfloat16(), rtol=2**-7, atol=2**-7)  # CPU rounds between the axes
    agree(resize, X2.to(memory_format=torch.channels_last), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [(4, 3), (3, 5), (11, 17)], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [False, True])
def test_bytes_at_the_edges(align, mode, size):
    """A pixel that is read several times past the edge has one weight, rounded once."""
    x = torch.randint(0, 256, (64, 3, 4, 4), dtype=torch.uint8)
    with compiling(False):
        agree(lambda x: F.interpolate(x, size, mode=mode, align_corners=align), x)


@pytest.mark.parametrize(("x", "mode"), [(X1, "linear"), (X3, "trilinear")], ids=["1d", "3d"])
@pytest.mark.parametrize("scale", [0.6, 2.0])
def test_corners_aligned(x, mode, scale):
    def resize(x):
        return F.interpolate(x, scale_factor=scale, mode=mode, align_corners=True)

    agree(value_and_gradient(resize), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("recompute", [False, True])
def test_scales_per_axis_and_recomputed(mode, recompute):
    def resize(x):
        return F.interpolate(
            x, scale_factor=(1.3, 0.7), mode=mode, recompute_scale_factor=recompute
        )

    agree(value_and_gradient(resize), X2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "mode", "layout"),
    [
        (X2, "nearest", torch.channels_last),
        (X2, "bilinear", torch.channels_last),
        (X3, "nearest-exact", torch.channels_last_3d),
        (X3, "trilinear", torch.channels_last_3d),
    ],
)
def test_gradients_of_channels_last(x, mode, layout):
    def resize(x):
        return F.interpolate(x, scale_factor=1.5, mode=mode)

    agree(value_and_gradient(resize), x.to(memory_format=layout), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_of_bytes(mode):
    agree(lambda x: F.interpolate(x, (8, 3), mode=mode), BYTES)


def test_empty_batch():
    agree(lambda x: F.interpolate(x, scale_factor=2), X2[:0])


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, padding, align):
    def sample(x, grid):
        x, grid = x.detach().requires_grad_(), grid.detach().requires_grad_()
        y = F.grid_sample(x, grid, mode, padding, align)
        return y.detach(), *torch.autograd.grad(y, (x, grid), torch.ones_like(y))

    agree(sample, X2, torch.randn(2, 4, 3, 2) * 0.9, rtol=1e-4, atol=1e-4)
    if mode != "bicubic":
        agree(sample, X3, torch.randn(2, 2, 3, 2, 3) * 0.9, rtol=1e-4, atol=1e-4)


def test_affine_grid():
    agree(lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False), torch.randn(2, 2, 3))
