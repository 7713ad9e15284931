"""as_strided in a graph reads and writes the storage, however the tensor itself lies in it."""

import pytest
import torch
from agreement import agree, compiling, random

LAYOUTS = {
    "contiguous": lambda: random(4, 6),
    "transposed": lambda: random(6, 4).t(),
    "permuted": lambda: random(2, 3, 4).permute(2, 0, 1),
    "channels_last": lambda: random(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
}


@pytest.fixture(autouse=True)
def _under_compile(_compiled):
    with compiling():
        yield


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reading(layout):
    agree(lambda x: (x + 1).as_strided((3, 2), (5, 2), 1) * 2, LAYOUTS[layout]())
    agree(lambda x: x.as_strided((3, 2), (5, 2), 1) * 2, LAYOUTS[layout]())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_writing(layout):
    def write(x):
        y = x * 2
        y.as_strided((3, 2), (5, 2), 1).zero_()
        return y

    agree(write, LAYOUTS[layout]())


def test_a_view_of_a_view_reaches_beyond_it():
    agree(lambda x: (x * 1)[1:3].as_strided((4,), (6,), 0) + 1, random(4, 6))
    agree(lambda x: (x * 1)[1:3].as_strided((2, 2), (1, 6)) + 1, random(4, 6))


@pytest.mark.parametrize("offset", [0, 10, None])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_view_of_an_input_reaches_beyond_it(offset, dynamic):
    """Also at another place than that of the call that was traced."""
    torch._dynamo.reset()
    read = torch.compile(
        lambda x: x[1:].as_strided((2, 2), (1, 2), offset) + 1, backend="neuron", dynamic=dynamic
    )
    for n, start in ((20, 5), (20, 9), (24, 7)):
        base = random(n)
        want = base[start : start + 8][1:].as_strided((2, 2), (1, 2), offset) + 1
        assert torch.equal(read(base.to("neuron")[start : start + 8]).cpu(), want)


def test_writing_into_an_input():
    def write(x):
        x.as_strided((3,), (5,), 2).fill_(7)
        return x + 1

    agree(write, random(4, 6))
    agree(write, random(6, 4).t())
