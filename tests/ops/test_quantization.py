"""Fake quantisation agrees with the CPU: values, masks and gradients, on the device alone."""

import pytest
import torch
from agreement import agree, random, refused

import torch_neuronx

aten = torch.ops.aten
X = torch.cat([random(40) * 3, torch.tensor([0.5, 1.5, -0.5, 0.0, 1e9, -1e9])])
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
LIMITS = (-8, 7)


def natively(fn, *args, **tolerance):
    torch_neuronx.clear_op_tracking()
    agree(fn, *args, **tolerance)
    assert not torch_neuronx.get_fallback_ops()


def supported(dtype):
    """Whether the CPU has a kernel for `dtype`."""
    try:
        torch.fake_quantize_per_tensor_affine(torch.ones(1, dtype=dtype), 1.0, 0, 0, 1)
    except RuntimeError:
        return False
    return True


def with_gradient(fn):
    def both(x, *rest):
        x = x.detach().requires_grad_()
        y = fn(x, *rest)
        return y.detach(), *torch.autograd.grad(y.sum(), [x])

    return both


@pytest.mark.parametrize("dtype", [d for d in DTYPES if supported(d)], ids=str)
@pytest.mark.parametrize(("scale", "zero_point"), [(0.1, 3), (0.37, 0), (2.0, -8)])
def test_per_tensor(dtype, scale, zero_point):
    natively(
        with_gradient(
            lambda x: torch.fake_quantize_per_tensor_affine(x, scale, zero_point, *LIMITS)
        ),
        X.to(dtype),
    )


def test_what_no_integer_holds():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30])
    fn = aten.fake_quantize_per_tensor_affine_cachemask
    natively(lambda x: fn(x, 0.5, 1, *LIMITS), x)
    fn = aten.fake_quantize_per_channel_affine_cachemask
    natively(lambda x, s, z: fn(x, s, z, 0, *LIMITS), x, torch.ones(4), torch.ones(4).int())


@pytest.mark.parametrize("enabled", [0, 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32], ids=str)
def test_parameters_in_tensors(enabled, dtype):
    fn = aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    natively(
        lambda x, s, z, on: fn(x, s, z, on, *LIMITS),
        X, torch.tensor([0.3]), torch.tensor([2], dtype=dtype), torch.tensor([enabled]),
    )  # fmt: skip


@pytest.mark.parametrize("zero_dtype", [torch.int32, torch.float32], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_channel(axis, zero_dtype):
    x = random(3, 4, 5) * 3
    n = x.shape[axis]
    zero_point = torch.arange(n).to(zero_dtype) - 1
    natively(
        with_gradient(
            lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, axis, *LIMITS)
        ),
        x, torch.linspace(0.1, 0.8, n), zero_point,
    )  # fmt: skip


def test_a_zero_point_beyond_the_limits_is_refused():
    x, scale = random(2, 3), torch.ones(3)
    fn = aten.fake_quantize_per_channel_affine_cachemask
    refused(lambda x: torch.fake_quantize_per_tensor_affine(x, 1.0, 99, *LIMITS), x)
    refused(lambda x, s, z: fn(x, s, z, 1, *LIMITS), x, scale, torch.tensor([0, 9, 0]).int())


def learnt(op, *axis):
    """The result and all three gradients."""

    def run(x, scale, zero_point):
        given = [v.detach().requires_grad_() for v in (x, scale, zero_point)]
        y = op(*given, *axis, *LIMITS, 0.7)
        weights = torch.linspace(-1, 1, y.numel(), device=y.device, dtype=y.dtype)
        return y.detach(), *torch.autograd.grad(y, given, weights.view_as(y))

    return run


@pytest.mark.parametrize("zero_point", [0.0, 2.4, -3.5, 20.0])
def test_learnable_per_tensor(zero_point):
    # A gradient of a parameter is a sum over X, whose largest terms are 8 steps.
    op = torch._fake_quantize_learnable_per_tensor_affine
    bound = 8 * X.numel() * torch.finfo(torch.float32).eps
    natively(
        learnt(op), X[:40], torch.tensor([0.3]), torch.tensor([zero_point]),
        rtol=bound, atol=bound,
    )  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
def test_learnable_per_channel(axis):
    x = random(6, 5) * 3
    n = x.shape[axis]
    op = torch._fake_quantize_learnable_per_channel_affine
    bound = 8 * x.numel() * torch.finfo(torch.float32).eps
    natively(
        learnt(op, axis), x, torch.linspace(0.1, 0.8, n), torch.linspace(-3, 3, n),
        rtol=bound, atol=bound,
    )  # fmt: skip


def test_empty():
    natively(lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, 1.0, 0, *LIMITS), X[:0])
