"""Runs one program on the CPU and on the device and compares what it returns."""

import torch
from torch.utils._pytree import tree_flatten

DEVICE = "neuron"


def agree(program, *, rtol=None, atol=None, strides=True):
    """``program(device)`` must return equal results on both devices, strides included.

    Floats are compared with ``assert_close`` (its defaults for the dtype unless given),
    everything else exactly. ``strides=False`` for operators whose layout PyTorch leaves to
    the kernel that a device chooses. Returns the device's result.
    """
    torch.manual_seed(0)
    expected = program("cpu")
    torch.manual_seed(0)
    result = program(DEVICE)
    results, expecteds = tree_flatten(result)[0], tree_flatten(expected)[0]
    assert len(results) == len(expecteds)
    for got, want in zip(results, expecteds, strict=True):
        if not isinstance(want, torch.Tensor):
            assert got == want
            continue
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert not strides or got.stride() == want.stride()
        torch.testing.assert_close(
            got.detach().cpu(), want.detach(), rtol=rtol, atol=atol, equal_nan=True
        )
    return result


def on(device, value):
    """A copy of CPU data on the device, so that both programs see the same values."""
    return value.clone().to(device)


def random(*shape, dtype=torch.float32, seed=0):
    """The same CPU values for every call with this shape and seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
