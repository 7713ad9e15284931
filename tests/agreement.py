"""Runs one function on the CPU and on the device and compares everything that PyTorch promises.

`agree` hands over tensors, `agree_by_device` the device for programs that make their own. Under
`compiling()`, which tests/reported and the option --compiled use, the device's run is compiled.
"""

import contextlib
import time

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map

_compiles = False


@contextlib.contextmanager
def compiling(compiles=True):
    """Within it, what runs on the device runs under torch.compile(backend="neuron")."""
    global _compiles
    outer, _compiles = _compiles, compiles
    try:
        yield
    finally:
        _compiles = outer


def ours(fn):
    """`fn` as it runs on the device."""
    if not _compiles:
        return fn
    torch._dynamo.reset()  # one function's many tests would reach the limit of recompilations
    return torch.compile(fn, backend="neuron", dynamic=False)


def on_device(value):
    """A copy on the device with the strides of `value`, also where they leave gaps or overlap."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided or value.is_nested:
        return value.to("neuron")
    storage = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
    whole = storage.to("neuron")
    return whole.as_strided(value.shape, value.stride(), value.storage_offset())


def copied(value):
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided or value.is_nested:
        return value.clone()
    storage = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage()).clone()
    return storage.as_strided(value.shape, value.stride(), value.storage_offset())


def same(got, want, *, strides=True, values=True, **tolerance):
    """Equal values, dtype, shape and strides; floats within assert_close's bounds.

    `strides=False` is for operators whose layout PyTorch leaves to the kernel that a device
    chooses, `values=False` for random numbers.
    """
    gots, wants = tree_flatten(got)[0], tree_flatten(want)[0]
    assert len(gots) == len(wants)
    for g, w in zip(gots, wants, strict=True):
        if not isinstance(w, torch.Tensor):
            assert g == w
            continue
        assert g.device.type in ("neuron", w.device.type)  # a program may end in .cpu()
        if w.is_nested:
            assert g.is_nested and g.layout is w.layout
            same(g.unbind(), w.unbind(), strides=strides, values=values, **tolerance)
            continue
        assert (g.dtype, g.shape, g.layout) == (w.dtype, w.shape, w.layout)
        if w.layout is not torch.strided:
            same_sparse(g, w, **tolerance)
            continue
        assert not strides or [s for s, n in zip(g.stride(), g.shape, strict=True) if n > 1] == [
            s for s, n in zip(w.stride(), w.shape, strict=True) if n > 1
        ]
        if values:
            torch.testing.assert_close(g.detach().cpu(), w.detach(), equal_nan=True, **tolerance)


def same_sparse(got, want, **tolerance):
    """Equal as dense tensors, and no entry in two places of what says that it is coalesced. How
    often a place occurs in one that is not is left to the device."""
    if want.layout is torch.sparse_coo:
        assert (got.sparse_dim(), got.dense_dim()) == (want.sparse_dim(), want.dense_dim())
    if want.layout is torch.sparse_coo and got.is_coalesced():
        parts = got._indices().cpu(), got._values().cpu()
        again = torch.sparse_coo_tensor(*parts, got.shape).coalesce()
        assert torch.equal(parts[0], again.indices())
    dense = got.detach().cpu().to_dense(), want.detach().to_dense()
    torch.testing.assert_close(*dense, equal_nan=True, **tolerance)


def agree(fn, *args, strides=True, **tolerance):
    """`fn(*args)` is the same on both, and so are the tensors in `args` afterwards."""
    theirs, given = tree_map(copied, args), tree_map(on_device, args)
    want = fn(*theirs)
    same(ours(fn)(*given), want, strides=strides, **tolerance)
    for g, w in zip(tree_flatten(given)[0], tree_flatten(theirs)[0], strict=True):
        if isinstance(w, torch.Tensor):
            same(g, w, strides=False, **tolerance)


def refused(fn, *args):
    """`fn(*args)` raises on the device what it raises on the CPU, and changes no tensor."""
    with pytest.raises(Exception) as want:  # noqa: PT011 - whatever it is, it is the standard
        fn(*tree_map(copied, args))
    given = tree_map(on_device, args)
    with pytest.raises(type(want.value)) as got:
        fn(*given)
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]
    for g, w in zip(tree_flatten(given)[0], tree_flatten(args)[0], strict=True):
        if isinstance(w, torch.Tensor):
            same(g, w, strides=False)


def agree_by_device(program, *, strides=True, **tolerance):
    """`program(device)` is the same on both, from the same seed. Returns the device's result."""
    torch.manual_seed(0)
    want = program("cpu")
    torch.manual_seed(0)
    got = ours(program)("neuron")
    same(got, want, strides=strides, **tolerance)
    return got


def on(device, value):
    """A copy of CPU data on the device, so that two programs see the same values."""
    return value.clone().to(device)


def random(*shape, dtype=torch.float32, seed=0):
    """The same CPU values for every call with this shape and seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def fastest_seconds(function, runs=15):
    """Of a call that ends when the device is idle, after one that compiles. The fastest of `runs`:
    other processes only ever add to it.
    """
    function()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        function()
        torch.neuron.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times)
