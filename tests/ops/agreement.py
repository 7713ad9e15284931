"""Runs one function on the CPU and on the device and compares everything that PyTorch promises."""

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map


def on_device(value):
    """A copy on the device with the strides of `value`, also where they leave gaps or overlap."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
    whole = storage.to("neuron")
    return whole.as_strided(value.shape, value.stride(), value.storage_offset())


def copied(value):
    if not isinstance(value, torch.Tensor):
        return value
    storage = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage()).clone()
    return storage.as_strided(value.shape, value.stride(), value.storage_offset())


def same(got, want, **tolerance):
    """Equal values, dtype, shape and strides; floats within assert_close's bounds."""
    gots, wants = tree_flatten(got)[0], tree_flatten(want)[0]
    assert len(gots) == len(wants)
    for g, w in zip(gots, wants, strict=True):
        if not isinstance(w, torch.Tensor):
            assert g == w
            continue
        assert g.device.type == "neuron"
        assert g.shape == w.shape
        assert [s for s, n in zip(g.stride(), g.shape, strict=True) if n > 1] == [
            s for s, n in zip(w.stride(), w.shape, strict=True) if n > 1
        ]
        torch.testing.assert_close(g.cpu(), w, equal_nan=True, **tolerance)


def agree(fn, *args, **tolerance):
    """`fn(*args)` is the same on both, and so are the tensors in `args` afterwards."""
    theirs, ours = tree_map(copied, args), tree_map(on_device, args)
    want = fn(*theirs)
    same(fn(*ours), want, **tolerance)
    for g, w in zip(tree_flatten(ours)[0], tree_flatten(theirs)[0], strict=True):
        if isinstance(w, torch.Tensor):
            torch.testing.assert_close(g.cpu(), w, equal_nan=True, **tolerance)


def refused(fn, *args):
    """`fn(*args)` raises on the device what it raises on the CPU, and changes no tensor."""
    with pytest.raises(Exception) as want:  # noqa: PT011 - whatever it is, it is the standard
        fn(*tree_map(copied, args))
    ours = tree_map(on_device, args)
    with pytest.raises(type(want.value)) as got:
        fn(*ours)
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]
    for g, w in zip(tree_flatten(ours)[0], tree_flatten(args)[0], strict=True):
        if isinstance(w, torch.Tensor):
            torch.testing.assert_close(g.cpu(), w, equal_nan=True)
