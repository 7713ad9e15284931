"""Ops that PyTorch itself seldom calls, on the device alone."""

import pytest
import torch
from agreement import agree, on_device, random

import torch_neuronx

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _stays_on_the_device():
    with torch_neuronx.no_fallback():
        yield


def test_ops_of_pytorchs_own_tests():
    agree(lambda x: (aten._foobar(x), aten._test_functorch_fallback(x, x + 1)), random(3))
    agree(aten._test_autograd_multiple_dispatch_view_copy, random(2, 3))
    whole = torch.tensor([1, 2], dtype=torch.int32)
    agree(
        lambda x: (aten._test_optional_intlist(x, [3, 4]), aten._test_optional_intlist(x, None)),
        whole,
    )
    agree(lambda x: aten._test_optional_filled_intlist(x, [3, 4]), whole)
    agree(lambda x: aten._test_optional_floatlist(x, [0.5, 0.25]), random(2))


def test_dequantising_what_is_not_quantised():
    agree(lambda x: (x.dequantize(), x.half().dequantize()), random(3))


def test_sums_of_matrices():
    agree(aten._compute_linear_combination, random(4, 2, 3), random(5, 4), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("helper", [aten._cummax_helper, aten._cummin_helper])
def test_running_extremes(helper):
    def run(x):
        values, indices = torch.empty_like(x), torch.empty_like(x, dtype=torch.int64)
        helper(x, values, indices, 1)
        return values, indices

    agree(run, random(3, 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_statistics_of_a_batch(dtype):
    def run(x):
        running = torch.zeros(2, device=x.device), torch.ones(2, device=x.device)
        return aten.batch_norm_update_stats(x, *running, 0.1), running

    agree(run, random(3, 2, 4).to(dtype), rtol=1e-5, atol=1e-6)


def test_batch_norm_with_update():
    def run(x):
        running = torch.zeros(2, device=x.device), torch.ones(2, device=x.device)
        return aten._batch_norm_with_update(x, None, None, *running, 0.1, 1e-5), running

    agree(run, random(3, 2, 4), rtol=1e-5, atol=1e-6)


def test_gradient_of_pooling_into_a_tensor():
    def run(grad, x):
        out = torch.empty(0, device=x.device)
        return aten.adaptive_avg_pool3d_backward.grad_input(grad, x, grad_input=out)

    agree(run, random(1, 2, 2, 2, 2), random(1, 2, 4, 4, 4), rtol=1e-6, atol=1e-6)


def test_the_choice_of_an_attention_kernel():
    q = on_device(random(1, 2, 4, 8))
    choice = torch._fused_sdp_choice(q, q, q)
    assert choice == torch.nn.attention.SDPBackend.OVERRIDEABLE.value
