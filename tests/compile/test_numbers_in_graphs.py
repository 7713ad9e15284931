"""Numbers that a graph reads from tensors stay in its program."""

import pytest
import torch
from agreement import on, random, same
from graphs import compiled
from oracle import CLOSE


@pytest.fixture(autouse=True)
def captured():
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        yield


def test_arithmetic():
    def program(x, y):
        a, b, c = x.sum().item(), y[0].item(), y[1].item()
        whole = (b // c, b % c, b / c, b * c - 2, max(b, c), -b)
        return x / a + b, torch.full_like(x, c), a * 2, *whole, b < c

    function = compiled(program, fullgraph=True)
    for pair in ((7, 2), (-7, 2), (7, -2), (3, 9)):
        x, y = random(4), torch.tensor(pair)
        got, want = function(on("neuron", x), on("neuron", y)), program(x, y)
        same(got[:2], want[:2], **CLOSE)
        assert got[2] == pytest.approx(want[2], rel=1e-5)
        assert got[3:] == want[3:]


def test_a_number_selects():
    def program(x, index):
        i = index.item()
        torch._check(i >= 0)
        torch._check(i < x.shape[0])
        return x[i] + 1, x * 2

    function, x = compiled(program, fullgraph=True), random(4, 3)
    for i in (0, 3):
        same(function(on("neuron", x), torch.tensor(i, device="neuron")), (x[i] + 1, x * 2))
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 <= 3"):
        function(on("neuron", x), torch.tensor(4, device="neuron"))


def test_a_view_at_a_place_from_data_is_refused():
    def program(x, index):
        return x[index.item()]

    with pytest.raises(Exception, match="view whose place depends on the data"):
        compiled(program, fullgraph=True)(
            torch.ones(3, 2, device="neuron"), torch.tensor(1, device="neuron")
        )


def test_a_size_from_data_is_refused():
    def program(x):
        return torch.zeros(x.sum().int().item(), device=x.device)

    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="depends on the data"):
        compiled(program, fullgraph=True)(torch.ones(3, device="neuron"))
