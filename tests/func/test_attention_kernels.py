"""Which form of attention runs: as torch.nn.attention says, or the one that has the derivative."""

import pytest
import torch.nn.functional as F
from agreement import random, same
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

import torch_neuronx

Q, K, V = (random(1, 2, 4, 4, seed=s) for s in range(3))
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
FUSED = "aten::_scaled_dot_product_fused_attention_overrideable"


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def forms(*kernels):
    """The operators that a call with these kernels allowed runs on the device."""
    torch_neuronx.clear_op_tracking()
    with sdpa_kernel(list(kernels)):
        attend(*(t.to("neuron") for t in (Q, K, V)))
    return torch_neuronx.get_executed_ops()


@pytest.mark.parametrize(
    "kernel",
    [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.OVERRIDEABLE],
)
def test_every_fused_kernel_is_the_devices(kernel):
    assert FUSED in forms(kernel)
    assert FUSED in forms(kernel, SDPBackend.MATH)


def test_math_is_the_composite():
    assert FUSED not in forms(SDPBackend.MATH)


def test_what_no_allowed_kernel_covers_is_refused():
    q = Q[0].to("neuron")
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(RuntimeError, match="No viable"):
        attend(q, q, q)


def on_math(transform, *args, strides=True):
    """The device's result by its own choice, the CPU's by that of its only kernel that can."""
    with sdpa_kernel(SDPBackend.MATH):
        want = transform(*args)
    same(transform(*(t.to("neuron") for t in args)), want, strides=strides, **CLOSE)


def test_forward_derivatives():
    on_math(lambda q, k, v: jvp(attend, (q, k, v), (k, v, q)), Q, K, V)
    on_math(jacfwd(attend, argnums=2), Q[:, :1], K[:, :1], V[:, :1])


def test_second_derivatives():
    def energy(q):
        return attend(q, q, q).square().sum()

    on_math(hessian(energy), Q[:, :1])
    on_math(jacrev(jacrev(energy)), Q[:, :1], strides=False)


def test_gradients_of_masks_under_vmap():
    """Whether a mask needs one may be hidden too: of the fused operator it is right as well."""

    def energy(q, mask):
        return F.scaled_dot_product_attention(q, q, q, mask).square().sum()

    def total(q, mask):
        return vmap(energy)(q, mask).sum()

    queries, masks = random(3, 1, 2, 4, 4), random(3, 4, 4, seed=1)
    on_math(grad(total, argnums=(0, 1)), queries, masks)
    on_math(vmap(grad(energy, argnums=(0, 1)), in_dims=(0, None)), queries, masks[0])
