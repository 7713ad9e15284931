"""Convolutions and the gradients of their three arguments agree with the CPU, strides included."""

import pytest
import torch
import torch.nn.functional as F
from agreement import agree, refused

import torch_neuronx

aten = torch.ops.aten

CONVOLUTIONS = {
    "1d": (F.conv1d, (2, 4, 9), (6, 4, 3), {"stride": 2, "padding": 1}),
    "2d": (F.conv2d, (2, 4, 9, 8), (6, 4, 3, 3), {"padding": (0, 2)}),
    "2d_dilated": (F.conv2d, (2, 4, 9, 8), (6, 4, 3, 2), {"stride": (2, 1), "dilation": (1, 2)}),
    "2d_grouped": (F.conv2d, (2, 4, 9, 8), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    "2d_depthwise": (F.conv2d, (2, 4, 9, 8), (8, 1, 3, 3), {"groups": 4, "stride": 2}),
    "2d_pointwise_strided": (F.conv2d, (2, 4, 8, 8), (3, 4, 1, 1), {"stride": 2}),
    "2d_padded_beyond_kernel": (F.conv2d, (1, 2, 2, 2), (3, 2, 3, 3), {"padding": 4}),
    "3d": (F.conv3d, (1, 2, 5, 4, 5), (3, 2, 3, 2, 3), {"stride": (2, 1, 1), "padding": 1}),
    "transposed_1d": (F.conv_transpose1d, (2, 4, 5), (4, 3, 4), {"stride": 2, "padding": 1}),
    "transposed_2d": (
        F.conv_transpose2d,
        (2, 4, 5, 6),
        (4, 3, 4, 3),
        {"stride": (2, 3), "padding": 1, "output_padding": (1, 2)},
    ),
    "transposed_2d_grouped": (
        F.conv_transpose2d,
        (2, 4, 5, 6),
        (4, 3, 2, 3),
        {"groups": 2, "dilation": 2, "padding": 1},
    ),
    "transposed_2d_past_its_steps": (
        F.conv_transpose2d,
        (2, 2, 4, 4),
        (2, 2, 4, 5),
        {"stride": (3, 2), "padding": (1, 2), "output_padding": (2, 3), "dilation": 4},
    ),
    "transposed_3d": (F.conv_transpose3d, (1, 2, 3, 2, 3), (2, 3, 2, 2, 2), {"stride": 2}),
    "two_taps_two_apart_without_edges": (
        F.conv2d,
        (1, 2, 4, 4),
        (2, 2, 2, 3),
        {"stride": 2, "padding": 1},
    ),
    "transposed_two_taps_two_apart_without_edges": (
        F.conv_transpose2d,
        (1, 2, 3, 2),
        (2, 2, 2, 3),
        {"stride": 2, "padding": 1},
    ),
    "unbatched": (F.conv2d, (4, 6, 6), (3, 4, 3, 3), {}),
    "empty_batch": (F.conv2d, (0, 4, 6, 6), (3, 4, 3, 3), {}),
}


def value_and_gradients(name, x, w, b):
    convolve, _, _, options = CONVOLUTIONS[name]
    x, w, b = (v.detach().requires_grad_() for v in (x, w, b))
    y = convolve(x, w, b, **options)
    return y.detach(), *torch.autograd.grad(y, (x, w, b), torch.ones_like(y))


def samples(name, dtype=torch.float32):
    convolve, x, w, options = CONVOLUTIONS[name]
    channels = w[1] * options.get("groups", 1) if "transpose" in convolve.__name__ else w[0]
    return [torch.randn(s).to(dtype) for s in (x, w, (channels,))]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_value_and_gradients(name):
    agree(lambda *a: value_and_gradients(name, *a), *samples(name), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["2d", "2d_grouped", "transposed_2d"])
def test_channels_last(name):
    x, w, b = samples(name)
    x = x.to(memory_format=torch.channels_last)
    agree(lambda *a: value_and_gradients(name, *a), x, w, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_dtypes(dtype):
    eps = torch.finfo(dtype).eps
    x, w, b = samples("2d", dtype)
    agree(lambda *a: value_and_gradients("2d", *a), x, w, b, rtol=8 * eps, atol=64 * eps)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64], ids=str)
def test_integers(dtype):
    x, w = (torch.randint(-5, 5, s, dtype=dtype) for s in ((2, 4, 5, 5), (6, 4, 3, 3)))
    agree(F.conv2d, x, w)


def test_channels_that_do_not_match_are_refused():
    refused(F.conv2d, torch.randn(2, 4, 5, 5), torch.randn(6, 3, 3, 3))


SLOW = {
    "2d": lambda x, w, b: aten._slow_conv2d_forward(x, w, [3, 2], b, [1, 2], [1, 0]),
    "2d by a matrix": lambda x, w, b: aten._slow_conv2d_forward(
        x, w.flatten(1), [3, 2], b, [1, 1], [1, 1]
    ),
    "dilated": lambda x, w, b: aten.slow_conv_dilated2d(x, w, [3, 2], b, [1, 1], [2, 1], [2, 1]),
    "dilated, unbatched": lambda x, w, b: aten.slow_conv_dilated2d(x[0], w, [3, 2], b),
    "transposed": lambda x, w, b: aten.slow_conv_transpose2d(
        x, w.transpose(0, 1), [3, 2], b, [2, 3], [1, 0], [1, 2]
    ),
    "gradients": lambda x, w, b: aten._slow_conv2d_backward.output_mask(
        aten._slow_conv2d_forward(x, w, [3, 2], b, [2, 1], [1, 1]),
        x, w, [3, 2], [2, 1], [1, 1], [True, True, True],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW)
def test_the_fallback_convolutions_of_the_cpu(name):
    x, w, b = torch.randn(2, 4, 7, 6), torch.randn(5, 4, 3, 2), torch.randn(5)
    torch_neuronx.clear_op_tracking()
    # Sums of up to 24 products, in gradients of up to 84, of size about 1.
    agree(SLOW[name], x, w, b, rtol=1e-4, atol=1e-4)
    assert not torch_neuronx.get_fallback_ops()


def test_the_fallback_convolutions_of_three_dimensions():
    x, w = torch.randn(2, 3, 4, 5, 4), torch.randn(2, 3, 2, 2, 2)
    torch_neuronx.clear_op_tracking()

    def run(x, w):
        taps = [2, 2, 2]
        return [
            aten.slow_conv3d_forward(x, w, taps, None, [1, 1, 1], [1, 0, 1]),
            aten.slow_conv_dilated3d(x, w, taps, None, [1, 1, 1], [1, 1, 1], [2, 1, 2]),
            aten.slow_conv_transpose3d(x, w.transpose(0, 1), taps, None, [2, 2, 2]),
        ]

    agree(run, x, w, rtol=1e-4, atol=1e-4)
    assert not torch_neuronx.get_fallback_ops()
