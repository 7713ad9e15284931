"""Random programs of views, in-place writes and copies, compared with the CPU after every step.

A program keeps a pool of tensors, many of which alias each other, once on the CPU and
once on the device. Each step makes a view, writes through one, copies between two, or
rearranges a storage; afterwards every tensor of the pool must agree in value, shape,
strides and offset, and where the CPU raises, the device must raise the same type.

``NEURON_FUZZ_PROGRAMS`` sets the number of programs (``make fuzz`` runs 2,000).
"""

import os

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

PROGRAMS = int(os.environ.get("NEURON_FUZZ_PROGRAMS", "60"))
SHAPES = [(), (4,), (0,), (2, 3), (3, 1, 2), (2, 2, 4)]
DTYPES = [torch.float32, torch.int64, torch.bfloat16, torch.uint8]


class Pool:
    """The tensors of one program: equal lists for the CPU and the device."""

    def __init__(self):
        self.cpu, self.device = [], []

    def add(self, cpu, device):
        self.cpu.append(cpu)
        self.device.append(device)

    def apply(self, function, *indices):
        """Calls ``function`` on both sides; returns False where both raise the same type."""
        outcomes = []
        for side in (self.cpu, self.device):
            try:
                outcomes.append(function(*(side[i] for i in indices)))
            except (RuntimeError, IndexError, ValueError) as error:
                outcomes.append(error)
        failed = [isinstance(outcome, Exception) for outcome in outcomes]
        assert failed[0] == failed[1], f"CPU: {outcomes[0]!r}\ndevice: {outcomes[1]!r}"
        if failed[0]:
            assert type(outcomes[0]) is type(outcomes[1])
            return False
        if isinstance(outcomes[0], torch.Tensor):
            self.add(*outcomes)
        return True

    def check(self):
        for cpu, device in zip(self.cpu, self.device, strict=True):
            assert device.shape == cpu.shape
            assert device.stride() == cpu.stride()
            assert device.storage_offset() == cpu.storage_offset()
            torch.testing.assert_close(device.cpu(), cpu, rtol=0, atol=0, equal_nan=True)


def new_tensor(draw, pool):
    shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES))
    cpu = (torch.arange(max(1, torch.Size(shape).numel()))[: torch.Size(shape).numel()] % 7).to(
        dtype
    )
    cpu = cpu.reshape(shape)
    pool.add(cpu, cpu.to("neuron"))


def pick(draw, pool):
    return draw(st.integers(0, len(pool.cpu) - 1))


def dim_of(draw, tensor):
    return draw(st.integers(-tensor.dim(), tensor.dim() - 1)) if tensor.dim() else 0


def make_view(draw, pool):
    index = pick(draw, pool)
    tensor = pool.cpu[index]
    dim = dim_of(draw, tensor)
    size = tensor.size(dim) if tensor.dim() else 1
    start = draw(st.integers(0, max(size - 1, 0)))
    step = draw(st.integers(1, 2))
    other = dim_of(draw, tensor)
    views = {
        "select": lambda t: t.select(dim, start),
        "slice": lambda t: t[start::step],
        "narrow": lambda t: t.narrow(dim, start, size - start),
        "transpose": lambda t: t.transpose(dim, other),
        "unsqueeze": lambda t: t.unsqueeze(dim),
        "squeeze": lambda t: t.squeeze(dim),
        "expand": lambda t: t.expand(2, *t.shape),
        "flatten": lambda t: t.view(-1),
        "diagonal": lambda t: t.diagonal(0, dim, other),
        "unfold": lambda t: t.unfold(dim, min(2, size), 1),
        "flip_view": lambda t: t.permute(tuple(reversed(range(t.dim())))),
        "detach": lambda t: t.detach(),
        "movedim": lambda t: t.movedim(dim, other),
    }
    if not tensor.dtype.is_floating_point:  # bytes may be denormal numbers, which XLA flushes
        views["bytes"] = lambda t: t.view(torch.uint8)
    pool.apply(views[draw(st.sampled_from(sorted(views)))], index)


def as_strided(draw, pool):
    index = pick(draw, pool)
    tensor = pool.cpu[index]
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    sizes = draw(st.lists(st.integers(1, 3), max_size=3))
    strides = [draw(st.integers(0, 3)) for _ in sizes]
    extent = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if extent >= elements:
        return
    offset = draw(st.integers(0, elements - 1 - extent))
    pool.apply(lambda t: t.as_strided(sizes, strides, offset), index)


def overlaps_itself(tensor):
    """Whether two indices of a view are one memory location.

    PyTorch refuses to write through some of those and leaves the rest undefined.
    """
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    places = torch.arange(elements)
    places = places.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return places.unique().numel() < places.numel() and 0 not in tensor.stride()


def pick_target(draw, pool):
    targets = [i for i, t in enumerate(pool.cpu) if not overlaps_itself(t)]
    return draw(st.sampled_from(targets))


def write(draw, pool):
    index = pick_target(draw, pool)
    value = draw(st.integers(-3, 3))
    writes = {
        "add_": lambda t: t.add_(value),
        "mul_": lambda t: t.mul_(value),
        "fill_": lambda t: t.fill_(value),
        "zero_": lambda t: t.zero_(),
        "clamp_": lambda t: t.clamp_(max=2),
        "setitem": lambda t: t.__setitem__(slice(0, 1), value),
        "bitwise_or_": lambda t: t.bitwise_or_(1),
    }
    name = draw(st.sampled_from(sorted(writes)))
    if pool.cpu[index].dtype is torch.uint8:
        value = abs(value)  # a negative float-to-uint8 conversion is undefined in C++
    pool.apply(lambda t: discard(writes[name](t)), index)


def copy(draw, pool):
    target, source = pick_target(draw, pool), pick(draw, pool)
    pool.apply(lambda t, s: discard(read_first(torch.Tensor.copy_, t, s)), target, source)


def add_tensor(draw, pool):
    target, source = pick_target(draw, pool), pick(draw, pool)
    pool.apply(lambda t, s: discard(read_first(torch.Tensor.add_, t, s)), target, source)


def read_first(write, target, source):
    """``write(target, source)``, with all reads before all writes on the CPU as well.

    Where the two overlap in a way that PyTorch does not refuse, its CPU kernels read what
    they have just written, in an order that is not defined; the device never does.
    """
    if target.device.type != "cpu" or target is source:
        return write(target, source)
    before = target.clone()
    value = source.clone()
    write(target, source)  # for its errors
    return target.copy_(write(before, value))


def set_storage(draw, pool):
    target, source = pick(draw, pool), pick(draw, pool)
    if pool.cpu[target].dtype is not pool.cpu[source].dtype:
        return
    if draw(st.booleans()):
        pool.apply(lambda t, s: discard(t.set_(s)), target, source)
    else:
        size = min(
            2, pool.cpu[source].untyped_storage().nbytes() // pool.cpu[source].element_size()
        )
        pool.apply(
            lambda t, s: discard(t.set_(s.untyped_storage(), 0, (size,), (1,))), target, source
        )


def resize(draw, pool):
    """Grows or shrinks, then writes all of the storage: PyTorch leaves new bytes undefined."""
    index, shape = pick(draw, pool), draw(st.sampled_from(SHAPES))

    def run(tensor):
        tensor.resize_(shape)
        whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        whole.set_(tensor.untyped_storage())
        whole.copy_(torch.arange(whole.numel()) % 5)

    pool.apply(run, index)


def discard(_):
    """Turns the result of an in-place method into nothing: the pool has the tensor already."""


STEPS = [
    make_view,
    make_view,
    make_view,
    as_strided,
    write,
    write,
    copy,
    add_tensor,
    set_storage,
    resize,
]


@settings(
    max_examples=PROGRAMS,
    deadline=None,
    derandomize="NEURON_FUZZ_PROGRAMS" not in os.environ,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_programs_agree_with_cpu(data):
    pool = Pool()
    new_tensor(data.draw, pool)
    new_tensor(data.draw, pool)
    for _ in range(data.draw(st.integers(2, 8))):
        step = data.draw(st.sampled_from(STEPS))
        step(data.draw, pool)
        pool.check()


@pytest.mark.parametrize("dtype", DTYPES)
def test_overlapping_copy_raises_as_cpu(dtype):
    for device in ("cpu", "neuron"):
        x = torch.arange(6).to(dtype).to(device)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            x[1:].copy_(x[:-1])
