"""Derivatives of gamma, beta and Dirichlet samples agree with the CPU's in every part of their
domain."""

import pytest
import torch
from agreement import agree

import torch_neuronx

aten = torch.ops.aten
ALPHA = torch.tensor([1e-3, 0.1, 0.7, 1.0, 3.0, 7.9, 8.1, 20.0, 300.0])
SIZES = torch.tensor([1e-4, 0.05, 0.5, 0.79, 0.81, 0.95, 1.0, 1.05, 1.3, 4.0])


def natively(fn, *args, **tolerance):
    torch_neuronx.clear_op_tracking()
    agree(fn, *args, **tolerance)
    assert not torch_neuronx.get_fallback_ops()


def natively_accurate(fn, *args):
    """float64 agrees with the CPU's; float32 is float64's result, rounded: the CPU's own loses
    digits to cancellation."""
    natively(fn, *args, rtol=1e-8, atol=1e-10)
    narrow = [x.float() for x in args]
    want = fn(*(x.double() for x in narrow)).float()
    got = fn(*(x.to("neuron") for x in narrow)).cpu()
    torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-6, atol=1e-10)


def test_gamma():
    alpha, sizes = torch.broadcast_tensors(ALPHA[:, None].double(), SIZES.double())
    natively_accurate(aten._standard_gamma_grad, alpha, alpha * sizes)
    natively_accurate(aten._standard_gamma_grad, alpha, sizes)


def test_dirichlet():
    x = torch.tensor([1e-4, 0.01, 0.2, 0.49, 0.5, 0.51, 0.8, 0.99]).double()
    x, alpha, beta = torch.broadcast_tensors(x, ALPHA[:, None, None].double(), ALPHA[:, None])
    natively_accurate(aten._dirichlet_grad, x, alpha, alpha + beta)


@pytest.mark.filterwarnings("ignore:.* runs on the host")
def test_samples_have_gradients():
    def slope(device):
        torch.manual_seed(0)
        alpha = torch.tensor([0.5, 2.0, 11.0], device=device, requires_grad=True)
        torch.distributions.Gamma(alpha, 1.0).rsample((5,)).sum().backward()
        return alpha.grad

    assert torch.isfinite(slope("neuron").cpu()).all()
