"""dynamic=True: one trace, one executable per distinct shape, sizes in and out of graphs."""

import pytest
import torch
from agreement import on, random, same
from graphs import compiled, graph_rows, traces
from torch import nn
from torch._dynamo.utils import counters
from torch.fx.experimental import _config as symbolic_shapes

import torch_neuronx


def attention(x):
    weights = (x @ x.transpose(-1, -2) / x.shape[-1] ** 0.5).softmax(-1)
    return (weights @ x).reshape(-1)[: x.shape[0] * 2] + x.shape[0]


def check_lengths(function, lengths):
    counters.clear()
    since = len(torch_neuronx.explain().rows)
    for length in lengths:
        x = random(length, 4, seed=length)
        same(function(on("neuron", x)), attention(x))
    return traces(), len(graph_rows(since))


def test_lengths_1_to_20_are_one_trace_and_20_executables():
    # PyTorch takes a size of 1 for special unless told otherwise: that is a trace of its own.
    with symbolic_shapes.patch(backed_size_oblivious=True):
        traced, programs = check_lengths(compiled(attention, dynamic=True), range(1, 21))
    assert traced == 1
    assert programs <= 20


def test_without_that_setting_a_length_of_1_is_a_second_trace():
    traced, programs = check_lengths(compiled(attention, dynamic=True), range(1, 21))
    assert traced == 2
    assert programs <= 20


def test_seen_shapes_need_nothing_new():
    function = compiled(attention, dynamic=True)
    check_lengths(function, (3, 5))
    assert check_lengths(function, (5, 3, 5)) == (0, 0)


def test_mark_dynamic():
    function = compiled(attention)
    x = random(6, 4)
    ours = on("neuron", x)
    torch._dynamo.mark_dynamic(ours, 0)
    counters.clear()
    same(function(ours), attention(x))
    for length in (7, 9):
        x = random(length, 4)
        same(function(on("neuron", x)), attention(x))
    assert traces() == 1


def test_static_by_default_and_dynamic_once_a_size_changed():
    function = compiled(attention)
    counters.clear()
    for length in (4, 5, 6, 7):
        x = random(length, 4)
        same(function(on("neuron", x)), attention(x))
    assert traces() == 2


def test_training_with_dynamic_lengths():
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    ours = nn.Linear(4, 4).to("neuron")
    ours.load_state_dict(model.state_dict())

    def loss(model, x):
        return model(x).relu().sum() * x.shape[0]

    function = compiled(lambda x: loss(ours, x), dynamic=True)
    counters.clear()
    for length in (2, 3, 5, 8):
        x = random(length, 4, seed=length)
        loss(model, x).backward()
        function(on("neuron", x)).backward()
        same(ours.weight.grad, model.weight.grad, rtol=1e-5, atol=1e-5)
    assert traces() == 1


def test_sizes_as_results():
    function = compiled(lambda x: (x.shape[0] * 2, x + x.shape[0], x.numel()), dynamic=True)
    for length in (3, 4):
        x = random(length, 2)
        same(function(on("neuron", x)), (length * 2, x + length, x.numel()))


def test_a_python_number_that_changes():
    function = compiled(lambda x, n: x * n, dynamic=True)
    counters.clear()
    for n in (2, 3, 4):
        same(function(torch.ones(2, device="neuron"), n), torch.full((2,), float(n)))
    assert traces() == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_factories_of_a_dynamic_size(dynamic):
    def positions(x):
        return torch.arange(x.shape[0], device=x.device) + torch.zeros(x.shape[0], device=x.device)

    function = compiled(positions, dynamic=dynamic)
    for length in (2, 3):
        same(function(torch.ones(length, device="neuron")), torch.arange(length).float())


def write_at(cache, new, at):
    cache[:, at : at + 1] = new
    return cache[:, at - 1 : at] + at


def test_a_position_is_a_run_time_number():
    function, caches = compiled(write_at), (torch.zeros(2, 40), torch.zeros(2, 40).to("neuron"))
    since = len(torch_neuronx.explain().rows)
    for at in range(1, 40):
        new = random(2, 1, seed=at)
        want = write_at(caches[0], new, at)
        same(function(caches[1], on("neuron", new), at), want)
        same(caches[1], caches[0])
    assert len(graph_rows(since)) <= 3  # two static traces, and one for every position after them


@pytest.mark.parametrize(
    "program",
    [
        lambda x, n: x[n] * n,
        lambda x, n: x[-n] + 1,
        lambda x, n: x.narrow(0, n, 2).exp(),
        lambda x, n: x[n - 2 : n + 1 : 2].exp(),
        lambda x, n: x[: x.shape[0] // 2].select_scatter(x[n], 0, 1) + n * 2,
        lambda x, n: x.roll(1) + torch.arange(n, n + 6, device=x.device)[:, None],
        lambda x, n: torch.where(x > n / 3, x, float(n)),
    ],
)
def test_numbers_that_no_shape_depends_on(program):
    function = compiled(program, dynamic=True, fullgraph=True)
    x = random(6, 3)
    since = len(torch_neuronx.explain().rows)
    for n in (2, 3, 4):
        same(function(on("neuron", x), n), program(x, n))
    assert len(graph_rows(since)) == 1


def test_numbers_that_shapes_depend_on_are_in_the_key():
    function = compiled(lambda x, n: x[:n].sum(0) + x.new_ones(n).sum(), dynamic=True)
    x = random(6, 3)
    since = len(torch_neuronx.explain().rows)
    for n in (2, 3, 4):
        same(function(on("neuron", x), n), x[:n].sum(0) + n)
    assert len(graph_rows(since)) == 3


@pytest.mark.parametrize("align_corners", [False, True])
def test_numbers_that_sizes_divide(align_corners):
    """PyTorch turns such arithmetic into ops on 0-d tensors, some of them in no other graph."""

    def resized(x):
        return nn.functional.interpolate(
            x, size=(3, 7), mode="bilinear", align_corners=align_corners
        ) * (x.shape[2] / (x.shape[3] - 1.0))

    torch._dynamo.reset()
    function = torch.compile(resized, backend="neuron", dynamic=True)
    for shape in ((2, 3, 5, 5), (2, 3, 6, 4)):
        x = random(*shape)
        same(function(on("neuron", x)), resized(x))


def test_a_size_that_is_a_product_of_sizes():
    """What is after the check of the factorisation is given the product, and not its factors."""
    solve = compiled(torch.linalg.tensorsolve, dynamic=True)
    for sizes in ((2, 3), (3, 4)):
        count = sizes[0] * sizes[1]
        a, b = random(*sizes, count) + torch.eye(count).view(*sizes, count) * 9, random(*sizes)
        bound = 100 * count * torch.finfo(torch.float32).eps
        want = torch.linalg.tensorsolve(a, b)
        same(solve(on("neuron", a), on("neuron", b)), want, atol=bound, rtol=bound)
