"""float8: every code, what a cast rounds to, and products with scales."""

import math

import pytest
import torch
import torch.nn.functional as F
from agreement import agree

import torch_neuronx

FLOAT8 = (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
)  # fmt: skip
CODES = torch.arange(256, dtype=torch.uint8)


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
@pytest.mark.parametrize("wide", [torch.float32, torch.bfloat16, torch.float64])
def test_every_code_is_read_and_written_exactly(dtype, wide):
    """e8m0fnu's 2**-127 is a denormal of float32, which XLA takes for 0."""
    codes = CODES[1:] if dtype == torch.float8_e8m0fnu else CODES
    agree(lambda codes: codes.view(dtype).to(wide), codes)
    agree(lambda codes: codes.view(dtype).float().to(dtype).float(), codes)


def between_codes(dtype):
    """All finite values, what lies halfway between neighbours, and the floats around that."""
    values = CODES.view(dtype).double()
    values = values[values.isfinite()].unique().float()
    halves = (values[1:] + values[:-1]) / 2
    far = torch.tensor([1e9, -1e9, math.inf, -math.inf, math.nan])
    up, down = halves.nextafter(torch.tensor(math.inf)), halves.nextafter(torch.tensor(-math.inf))
    x = torch.cat([values, halves, up, down, values * 1.01, far])
    return x[(x == 0) | ~(x.abs() < torch.finfo(torch.float32).tiny)]


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_a_cast_rounds_and_saturates_as_on_the_cpu(dtype):
    agree(lambda x: x.to(dtype).float(), between_codes(dtype))
    agree(lambda x: x.to(dtype).float(), between_codes(dtype).double())


SCALES = {
    "TensorWise": (torch.tensor(0.3), torch.tensor(2.0)),
    "RowWise": (torch.rand(32, 1), torch.rand(1, 48)),
}


@pytest.mark.parametrize("recipe", SCALES)
@pytest.mark.parametrize("out_dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn], ids=str)
def test_a_product_with_scales(recipe, out_dtype):
    kind = F.ScalingType.__members__[recipe]
    # Bytes, as assert_close does not compare float8 arguments afterwards within a tolerance.
    a = torch.randn(32, 64).to(torch.float8_e4m3fn).view(torch.uint8)
    b = torch.randn(48, 64).to(torch.float8_e5m2).view(torch.uint8)

    def product(a, b, x, y):
        a, b = a.view(torch.float8_e4m3fn), b.view(torch.float8_e5m2).t()
        return F.scaled_mm(a, b, x, kind, y, kind, output_dtype=out_dtype).float()

    # Sums of 64 products, rounded once to the result's dtype.
    eps = max(torch.finfo(out_dtype).eps, 64 * 2**-23)
    with torch_neuronx.no_fallback():
        agree(product, a, b, *SCALES[recipe], rtol=eps, atol=eps)


def test_a_product_that_is_too_large_saturates():
    x = torch.full((16, 16), 30.0).to(torch.float8_e4m3fn).view(torch.uint8)
    one = torch.tensor(1.0)

    def product(x, one):
        x = x.view(torch.float8_e4m3fn)
        return torch._scaled_mm(x, x.t(), one, one, out_dtype=torch.float8_e4m3fn).float()

    agree(product, x, one)
