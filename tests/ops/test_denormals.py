"""Denormal numbers: kept by what moves them, taken for zero by what computes with them."""

import pytest
import torch
from agreement import agree


def denormals(dtype):
    tiny = torch.finfo(dtype).tiny
    return torch.tensor([tiny / 4, -tiny / 2, tiny / 2 + tiny / 8, tiny, -tiny], dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_what_moves_a_denormal_keeps_it(dtype):
    x = denormals(dtype).to("neuron")
    for moved in (x, x.clone(), torch.cat([x, x])[:5], x.flip(0).flip(0), x[torch.arange(5)]):
        assert torch.equal(moved.cpu(), denormals(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_arithmetic_is_that_of_set_flush_denormal(dtype):
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor has no such mode")
    try:
        agree(lambda x: (x * 1, x + x, x / 2, x > 0, x == 0), denormals(dtype))
    finally:
        torch.set_flush_denormal(False)


def test_float16_is_computed_in_float32_which_has_its_denormals():
    agree(lambda x: (x * 1, x + x, x / 2, x > 0, x == 0, x.float()), denormals(torch.float16))


def test_a_float16_sum_keeps_terms_below_the_normal_numbers():
    x = torch.logspace(-8, 4, 256).half()
    agree(lambda x, y: (x + y, x - y, torch.add(x, y, alpha=0.37)), x, x.flip(0), rtol=0, atol=0)
