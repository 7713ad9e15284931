"""Models quantised in PyTorch's functional forms give the CPU's results, eagerly and compiled.

Weights and activations are ordinary int8 and uint8 tensors with their scales beside them, as
torchao and exported graphs (PT2E) keep them.
"""

import pytest
import torch
from agreement import agree, compiling, on_device, random
from torch.ao.quantization.fx import _decomposed  # noqa: F401 - defines the ops

import torch_neuronx

quantized = torch.ops.quantized_decomposed
X = random(6, 8) * 3
WEIGHT = random(5, 8, seed=1)
INT8, UINT8 = (-128, 127, torch.int8), (0, 255, torch.uint8)


@pytest.fixture(params=[False, True], ids=["eager", "compiled"], autouse=True)
def _eager_and_compiled(request):
    with compiling(request.param), torch_neuronx.no_fallback():
        yield


@pytest.mark.parametrize("limits", [INT8, UINT8], ids=["int8", "uint8"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_per_tensor(limits, dtype):
    def there_and_back(x):
        q = quantized.quantize_per_tensor(x, 0.07, 3, *limits)
        return q, quantized.dequantize_per_tensor(q, 0.07, 3, *limits)

    agree(there_and_back, X.to(dtype))


@pytest.mark.parametrize("out", [torch.float32, torch.bfloat16], ids=str)
def test_per_tensor_with_its_parameters_in_tensors(out):
    def there_and_back(x, scale, zero_point):
        q = quantized.quantize_per_tensor.tensor(x, scale, zero_point, *INT8)
        return q, quantized.dequantize_per_tensor.tensor(q, scale, zero_point, *INT8, out_dtype=out)

    agree(there_and_back, X, torch.tensor([0.07], dtype=torch.float64), torch.tensor([-3]))


@pytest.mark.parametrize("choose", ["choose_qparams", "choose_qparams_symmetric"])
@pytest.mark.parametrize("limits", [INT8, UINT8], ids=["int8", "uint8"])
def test_parameters_from_the_data(choose, limits):
    def there_and_back(x):
        scale, zero_point = getattr(quantized, choose).tensor(
            x, limits[0], limits[1], 1e-6, limits[2]
        )
        q = quantized.quantize_per_tensor.tensor(x, scale, zero_point, *limits)
        return scale, zero_point, q

    agree(there_and_back, X)
    agree(there_and_back, X.abs() + 1)


@pytest.mark.parametrize("axis", [0, 1])
def test_per_channel(axis):
    scales = torch.linspace(0.02, 0.1, X.shape[axis])
    zero_points = torch.arange(X.shape[axis])

    def there_and_back(x, scales, zero_points):
        q = quantized.quantize_per_channel(x, scales, zero_points, axis, *INT8)
        return q, quantized.dequantize_per_channel(q, scales, zero_points, axis, *INT8)

    agree(there_and_back, X, scales, zero_points)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_per_token(asymmetric):
    def there_and_back(x):
        if asymmetric:
            scales, points = quantized.choose_qparams_per_token_asymmetric(x, torch.int8)
        else:
            scales, points = quantized.choose_qparams_per_token(x, torch.int8)
        q = quantized.quantize_per_token(x, scales, points, *INT8)
        return scales, q, quantized.dequantize_per_token(q, scales, points, *INT8, torch.float32)

    agree(there_and_back, X)


def test_groups_of_a_channel():
    scales = torch.linspace(0.05, 0.2, 12).view(6, 2)
    zero_points = torch.zeros(6, 2, dtype=torch.int64)

    def there_and_back(x, scales, zero_points):
        q = quantized.quantize_per_channel_group(x, scales, zero_points, *INT8, 4)
        return q, quantized.dequantize_per_channel_group(
            q, scales, zero_points, *INT8, 4, torch.float32
        )

    agree(there_and_back, X, scales, zero_points)


def rows_to_int8(x):
    """(int8, one scale per row), symmetric: what torchao's dynamic activations are."""
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127
    return torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8), scale


def test_linear_with_int8_activations_and_weights():
    def linear(x, weight, bias):
        q, scale = rows_to_int8(x)
        w, weight_scale = rows_to_int8(weight)
        return torch._int_mm(q, w.t()) * scale * weight_scale.t() + bias

    x, bias = random(32, 64), random(24)
    agree(linear, x, random(24, 64, seed=1), bias)
    got = linear(*map(on_device, (x, random(24, 64, seed=1), bias))).cpu()
    exact = torch.nn.functional.linear(x, random(24, 64, seed=1), bias)
    # Either operand is off by at most half a step of its row's largest over 127, in 64 terms.
    assert (got - exact).abs().max() < 64 * (3.5 / 127) * 3.5


def test_linear_with_int8_weights():
    def linear(x, weight):
        w, scale = rows_to_int8(weight)
        packed = torch._weight_int8pack_mm(x, w, scale.view(-1))
        return packed, torch.nn.functional.linear(x, w.to(x.dtype)) * scale.view(-1)

    # 64 terms, summed in another order.
    agree(linear, random(4, 64), random(8, 64, seed=1), rtol=1e-5, atol=64 * 2.0**-23 * 10)


class Exported(torch.nn.Module):
    """What PT2E makes of linear-relu-linear: every edge goes through int8 and back."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(8, 5), torch.nn.Linear(5, 3)

    def edge(self, x, scale):
        return quantized.dequantize_per_tensor(
            quantized.quantize_per_tensor(x, scale, 0, *INT8), scale, 0, *INT8
        )

    def weight(self, w):
        scales = w.detach().abs().amax(1) / 127
        points = torch.zeros_like(scales, dtype=torch.int64)
        q = quantized.quantize_per_channel(w, scales, points, 0, *INT8)
        return quantized.dequantize_per_channel(q, scales, points, 0, *INT8)

    def forward(self, x):
        x = self.edge(x, 0.05)
        x = torch.nn.functional.linear(x, self.weight(self.first.weight), self.first.bias)
        x = self.edge(x.relu(), 0.03)
        return torch.nn.functional.linear(x, self.weight(self.second.weight), self.second.bias)


def test_a_quantised_graph():
    def run(x):
        with torch.no_grad():
            return Exported().to(x.device)(x)

    # A rounding at an edge may fall the other way: one step of the second scale per such element.
    agree(run, X, rtol=1e-4, atol=0.03)


def test_quantised_tensors_are_refused_in_one_sentence():
    x = on_device(X)
    for call in (
        lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        lambda: torch.quantize_per_channel(x, x[:, 0].abs(), x[:, 0].long(), 0, torch.qint8),
        lambda: torch.quantize_per_tensor_dynamic(x, torch.quint8, False),
        lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.qint8).to("neuron"),
    ):
        with pytest.raises(NotImplementedError, match="quantized_decomposed"):
            call()
