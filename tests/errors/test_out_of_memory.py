"""Out of memory, by every way to ask for some: one sentence with the sizes, and nothing lost."""

import pytest
import torch
import torch.nn.functional as F
from refusal import raised, readable, values

GIB = 2**30
TOO_LARGE = 2**42  # elements, far beyond any machine


def one(*shape):
    return torch.ones(*(shape or (1,)), device="neuron")


REQUESTS = {
    "empty": lambda: torch.empty(TOO_LARGE, device="neuron"),
    "zeros": lambda: torch.zeros(TOO_LARGE, device="neuron"),
    "full": lambda: torch.full((TOO_LARGE,), 2.0, device="neuron"),
    "arange": lambda: torch.arange(TOO_LARGE, device="neuron"),
    "rand": lambda: torch.rand(TOO_LARGE, device="neuron"),
    "randperm": lambda: torch.randperm(TOO_LARGE, device="neuron"),
    "eye": lambda: torch.eye(2**20, 2**22, device="neuron"),
    "repeat": lambda: one().repeat(TOO_LARGE),
    "pad": lambda: F.pad(one(), (TOO_LARGE, 0)),
    "contiguous": lambda: one().expand(TOO_LARGE).contiguous(),
    "cat": lambda: torch.cat([one().expand(TOO_LARGE)] * 2),
    "add": lambda: one(2**20, 1) + one(2**22),
    "outer": lambda: torch.outer(one(2**20), one(2**22)),
    "matmul": lambda: one(2**20, 1) @ one(1, 2**20),
    "one_hot": lambda: F.one_hot(torch.zeros(2**20, dtype=torch.int64, device="neuron"), 2**22),
    "interpolate": lambda: F.interpolate(one(1, 1, 4, 4), size=(2**20, 2**22)),
    "conv_transpose": lambda: F.conv_transpose2d(one(1, 1, 2, 2), one(1, 1, 2, 2), stride=2**20),
    "to": lambda: torch.empty(1, dtype=torch.uint8).expand(64 * 1024 * GIB).to("neuron"),
    "resize_": lambda: one().resize_(TOO_LARGE),
}


@pytest.fixture
def four_mib_more():
    """The device has room for 4 MiB."""
    torch.empty(1, device="neuron")
    total = torch.neuron.get_device_properties().total_memory
    allowed = torch.neuron.memory_allocated() + 4 * 2**20
    torch.neuron.set_per_process_memory_fraction(allowed / total)
    yield
    torch.neuron.set_per_process_memory_fraction(1.0)


def assert_out_of_memory(error):
    assert type(error) is torch.OutOfMemoryError
    assert len(error.args) == 1  # what libraries look for, together with the next words
    assert " out of memory." in readable(error)


@pytest.mark.parametrize("name", REQUESTS)
def test_more_than_any_machine_has(name):
    ooms = torch.neuron.memory_stats()["num_ooms"]
    error = raised(lambda _: REQUESTS[name]())
    assert_out_of_memory(error)
    assert "Tried to allocate" in str(error)
    assert torch.neuron.memory_stats()["num_ooms"] > ooms


@pytest.mark.usefixtures("four_mib_more")
def test_a_program_known_from_before_runs_out_of_memory():
    x = torch.zeros(2**18, device="neuron")
    double = torch.cat([x, x])
    assert double.numel() == 2**19
    del double
    kept = [torch.cat([x, x])]
    with pytest.raises(torch.OutOfMemoryError, match=r"when running aten\.cat"):
        kept.extend(torch.cat([x, x]) for _ in range(8))
    kept.clear()
    assert torch.cat([x, x]).sum().item() == 0


@pytest.mark.usefixtures("four_mib_more")
def test_an_update_in_place_needs_no_room():
    x = torch.zeros(3 * 2**18, device="neuron")
    x.add_(1)
    x.mul_(2)
    error = raised(lambda _: x.clone().add_(1))
    assert_out_of_memory(error)
    assert x[:2].tolist() == [2, 2]


@pytest.mark.usefixtures("four_mib_more")
def test_a_write_that_runs_out_of_memory_leaves_its_target_alone():
    x = torch.zeros(2**10, device="neuron")
    for attempt in (
        lambda _: x.copy_(torch.ones(2**21, dtype=torch.int64).to("neuron")[: 2**10]),
        lambda _: torch.cat([torch.ones(2**10, device="neuron")] * 2**12, out=x),
        lambda _: x.resize_(2**22),
        lambda _: x.add_(torch.ones(2**22, 1, device="neuron").sum()),
    ):
        assert_out_of_memory(raised(attempt))
        assert x.shape == (2**10,)
        assert x.sum().item() == 0


def test_sizes_that_no_integer_holds():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.zeros(2**62, 2**10, device="neuron")


def test_failures_leave_nothing_behind():
    x, index = values("neuron", 64, 64), torch.tensor([0, 99], device="neuron")
    attempts = (
        lambda: x[index],
        lambda: x.index_add_(0, index, x[:2]),
        lambda: x @ x[:3],
        lambda: x.add_(values("neuron", 3)),
        lambda: x.repeat(TOO_LARGE, 1),
        lambda: F.cross_entropy(x, index.repeat(32)),
    )

    def fail_at_each():
        for attempt in attempts:
            with pytest.raises((RuntimeError, IndexError)):
                attempt()

    fail_at_each()
    torch.neuron.synchronize()
    before = torch.neuron.memory_allocated()
    for _ in range(20):
        fail_at_each()
    torch.neuron.synchronize()
    assert torch.neuron.memory_allocated() == before
    assert torch.equal(x.cpu(), values("cpu", 64, 64))
