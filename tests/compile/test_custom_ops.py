"""torch.library ops without a lowering run eagerly between compiled segments, effects in order."""

import pytest
import torch
from agreement import on, random, same
from graphs import compiled, graph_rows

from torch_neuronx.lowering.flags import lowering_flags
from torch_neuronx.lowering.registry import lowers

log = []


@torch.library.custom_op("compile_test::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().cpu().numpy() * 2).to(x.device)


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


doubled.register_autograd(lambda ctx, grad: grad * 2)


@torch.library.custom_op("compile_test::increment_", mutates_args=("x",))
def increment_(x: torch.Tensor) -> None:
    x.copy_((x.cpu() + 1).to(x.device))


@torch.library.custom_op("compile_test::split_sign", mutates_args=())
def split_sign(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.relu(), (-x).relu()


@split_sign.register_fake
def _(x):
    return torch.empty_like(x), torch.empty_like(x)


@torch.library.custom_op("compile_test::parts", mutates_args=())
def parts(x: torch.Tensor, size: int) -> tuple[list[torch.Tensor], int]:
    return [part.clone() for part in x.split(size)], x.dim()


@parts.register_fake
def _(x, size):
    return [torch.empty_like(part) for part in x.split(size)], x.dim()


@torch.library.custom_op("compile_test::note", mutates_args=())
def note(x: torch.Tensor, word: str) -> torch.Tensor:
    log.append((word, x.sum().item()))
    return x.clone()


@note.register_fake
def _(x, word):
    return torch.empty_like(x)


torch.library._register_effectful_op(
    "compile_test::note", torch._library.effects.EffectType.ORDERED
)


def test_results_of_a_custom_op():
    def program(x):
        positive, negative = split_sign(doubled(x * 3) + 1)
        return positive - negative.sum()

    x = random(4)
    before = len(graph_rows())
    same(compiled(program, fullgraph=True)(on("neuron", x)), program(x))
    assert len(graph_rows()) - before >= 2  # what lies between is compiled


def test_lists_and_numbers_that_a_custom_op_returns():
    def program(x):
        (first, second, last), rank = parts(x * 3, 2)
        return first + second * rank - last

    x = random(6, 3)
    same(compiled(program, fullgraph=True)(on("neuron", x)), program(x))


def test_an_op_with_a_lowering_is_part_of_the_graph():
    @torch.library.custom_op("compile_test::lowered", mutates_args=())
    def lowered(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by

    lowered.register_fake(lambda x, by: torch.empty_like(x))
    before = lowering_flags()

    @lowers(torch.ops.compile_test.lowered.default)
    def rule(out, x, by):
        return x * by

    assert lowering_flags() != before  # nothing cached under another rule is used
    x, rows = random(4), len(graph_rows())
    same(compiled(lambda x: lowered(x + 1, 3.0) - 1, fullgraph=True)(on("neuron", x)), x * 3 + 2)
    assert len(graph_rows()) - rows == 1


def test_gradients_through_a_custom_op():
    def program(x):
        return doubled(x.sin()).sum()

    x = random(4).requires_grad_()
    ours = on("neuron", x.detach()).requires_grad_()
    program(x).backward()
    compiled(program, fullgraph=True)(ours).backward()
    same(ours.grad, x.grad)


def test_mutation_of_an_input_and_of_an_intermediate():
    def program(x, y):
        increment_(y)
        z = x * y
        increment_(z)
        return z + 1

    x, y = random(3), random(3, seed=1)
    ours = on("neuron", x), on("neuron", y)
    address = ours[1].data_ptr()
    want = program(x, y)
    same(compiled(program, fullgraph=True)(*ours), want)
    same(ours[1], y)
    assert ours[1].data_ptr() == address


def test_mutation_through_a_view():
    def program(x):
        increment_(x[1])
        return x * 2

    x = random(3, 2)
    ours = on("neuron", x)
    want = program(x)
    same(compiled(program, fullgraph=True)(ours), want)
    same(ours, x)


def test_effects_keep_their_order():
    def program(x):
        a = note(x + 1, "first")
        b = note(x + 2, "second")
        return note(a * b, "third")

    x = torch.ones(2)
    log.clear()
    want = program(x)
    expected = list(log)
    log.clear()
    same(compiled(program, fullgraph=True)(on("neuron", x)), want)
    assert log == expected


@pytest.mark.parametrize("dynamic", [False, True])
def test_sizes_cross_the_cuts(dynamic):
    def program(x):
        return doubled(x * x.shape[0]) + x.shape[0]

    function = compiled(program, fullgraph=True, dynamic=dynamic)
    for length in (3, 4):
        x = random(length)
        same(function(on("neuron", x)), program(x))
