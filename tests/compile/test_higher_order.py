"""cond, while_loop and inner regions in compiled graphs. The oracle is eager PyTorch on the CPU."""

import pytest
import torch
from agreement import on, random, same
from graphs import compiled
from oracle import CLOSE, agree_compiled, run
from torch._higher_order_ops._invoke_quant import InvokeQuant
from torch._higher_order_ops.while_loop import while_loop


def zero(like):
    return torch.zeros((), dtype=torch.int64, device=like.device)


both = pytest.mark.parametrize("gradient", [False, True], ids=["inference", "training"])


# cond


@both
@pytest.mark.parametrize("sign", [1, -1], ids=["true", "false"])
def test_cond_runs_the_branch_that_its_predicate_chooses(sign, gradient):
    def program(x, y):
        return torch.cond(
            x[0, 0] > 0, lambda x, y: x.sin() * y, lambda x, y: x.cos() + y * y, (x, y)
        )

    x = torch.full((3, 4), 0.5 * sign)
    agree_compiled(program, x, random(3, 4, seed=1), gradient=gradient)


@both
def test_cond_captures_tensors_numbers_and_parameters(gradient):
    layer = torch.nn.Linear(4, 4)
    weight = layer.weight.detach().clone()

    def program(x, weight):
        doubled, count = weight * 2, x.shape[0]
        return torch.cond(
            x.sum() > 1e3, lambda x: x @ doubled, lambda x: (x @ doubled.t()) * count, (x,)
        )

    agree_compiled(program, random(3, 4), weight, gradient=gradient)


def test_cond_returns_structures():
    def program(x):
        return torch.cond(
            x.sum() > 0,
            lambda x: {"a": x.sin(), "b": (x + 1, x.sum())},
            lambda x: {"a": x.cos(), "b": (x - 1, x.mean())},
            (x,),
        )

    agree_compiled(program, random(3, 4).abs())
    agree_compiled(program, -random(3, 4).abs())


@pytest.mark.parametrize("sign", [1, -1])
def test_cond_returns_numbers(sign):
    def program(x):
        y, n = torch.cond(x.sum() > 0, lambda x: (x.sin(), 3), lambda x: (x.cos(), 4), (x,))
        return y * n, n

    agree_compiled(program, sign * random(4).abs())


@both
def test_cond_in_cond(gradient):
    def inner(x):
        return torch.cond(x[0] > 0, lambda x: x.exp(), lambda x: x * 3, (x,))

    def program(x):
        return torch.cond(x.sum() > 0, inner, lambda x: x.sin(), (x,))

    for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 2.0]), torch.tensor([-1.0, -2.0])):
        agree_compiled(program, x, gradient=gradient)


def test_cond_with_dynamic_shapes():
    def program(x):
        n = x.shape[0]
        return torch.cond(x.sum() > 0, lambda x: x * n, lambda x: x.sum() + x * n * n, (x,))

    function = compiled(program, fullgraph=True, dynamic=True)
    for length in (3, 5, 8):
        for sign in (1, -1):
            x = sign * random(length).abs()
            same(function(on("neuron", x)), program(x), **CLOSE)


def test_the_check_of_a_branch_counts_when_it_is_taken():
    def program(x, index):
        return torch.cond(x.sum() > 0, lambda x, i: x[i], lambda x, i: x[:2] * 2, (x, index))

    function = compiled(program, fullgraph=True)
    x, inside, outside = torch.ones(4), torch.tensor([0, 3]), torch.tensor([0, 4])
    same(function(on("neuron", x), on("neuron", inside)), x[inside])
    same(function(on("neuron", -x), on("neuron", outside)), -x[:2] * 2)
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        function(on("neuron", x), on("neuron", outside))


def test_branches_draw_the_random_numbers_of_eager():
    def program(x):
        y = torch.cond(x.sum() > 0, torch.rand_like, torch.randn_like, (x,))
        return y, torch.rand_like(x)

    function = compiled(program, fullgraph=True)
    for sign, draw in ((1, torch.rand_like), (-1, torch.randn_like)):
        x = sign * torch.ones(64, device="neuron")
        torch.manual_seed(0)
        want = [draw(x).cpu(), torch.rand_like(x).cpu()]
        torch.manual_seed(0)
        same(list(function(x)), want)


def test_branches_that_draw_unequal_amounts_are_refused():
    def program(x):
        return torch.cond(x.sum() > 0, torch.rand_like, lambda x: x * 2, (x,))

    with pytest.raises(NotImplementedError, match="different amounts of random numbers"):
        compiled(program)(torch.ones(4, device="neuron"))


def test_a_gradient_that_would_draw_other_numbers_is_refused():
    """PyTorch runs the branch again for its gradient, with another mask."""

    def program(x):
        dropped = torch.nn.functional.dropout
        return torch.cond(
            x.sum() > 0, lambda x: dropped(x, 0.5), lambda x: dropped(x.sin(), 0.5), (x,)
        )

    x = torch.ones(8, device="neuron", requires_grad=True)
    result = compiled(program, fullgraph=True)(x)
    with pytest.raises(NotImplementedError, match="its gradient would draw other random numbers"):
        result.sum().backward()


# while_loop


def counted(rounds, body):
    """`body` a number of times, on the tensor's device."""

    def program(x):
        return while_loop(lambda i, x: i < rounds, lambda i, x: (i + 1, body(x, i)), (zero(x), x))

    return program


def test_while_loop():
    agree_compiled(counted(5, lambda x, i: x.sin() + i), random(3, 4))


def test_a_loop_that_never_runs_gives_what_it_was_given():
    agree_compiled(counted(0, lambda x, i: x * 2), random(3, 4))


def test_how_often_a_loop_runs_depends_on_the_data():
    def program(x):
        return while_loop(lambda n, x: x.sum() > 1, lambda n, x: (n + 1, x / 2), (zero(x), x))

    function = compiled(program, fullgraph=True)
    for size in (0.1, 1.0, 1e3):
        x = size * random(8).abs()
        same(function(on("neuron", x)), program(x), **CLOSE)


def test_a_loop_counts_with_a_number():
    def program(x):
        def body(i, x):
            return i + 2, x * (i // 3) + x[i % 4] + i / 2

        return while_loop(lambda i, x: i < 7, body, (1, x))

    x = random(4)
    n, y = compiled(program, fullgraph=True)(on("neuron", x))
    want = x
    for i in (1, 3, 5):
        want = want * (i // 3) + want[i % 4] + i / 2
    assert n == 7
    same(y, want, **CLOSE)


def test_a_loop_captures_tensors_and_sizes():
    def program(x, w):
        n, doubled = x.shape[0], w * 2
        return while_loop(
            lambda i, x: i < n, lambda i, x: (i + 1, (x @ doubled).tanh() + n), (zero(x), x)
        )

    agree_compiled(program, random(3, 4), random(4, 4, seed=1))
    agree_compiled(program, random(5, 4), random(4, 4, seed=1), dynamic=True)


def test_a_check_ends_a_loop_and_is_raised():
    def program(x, index):
        return while_loop(
            lambda i, total: x.take(index.take(i)) < 1e3,
            lambda i, total: (i + 1, total + x.take(index.take(i))),
            (zero(x), x.sum()),
        )

    x = torch.tensor([1.0, 2.0, 1e4])
    function = compiled(program, fullgraph=True)
    for index, error in (
        ([0, 1, 0, 2], None),
        ([0, 1, 5, 2], "tried to access index 5 on a tensor of 3 elements"),
        ([0, 1, 0, 1], "tried to access index 4 on a tensor of 4 elements"),
    ):
        given = on("neuron", x), on("neuron", torch.tensor(index))
        if error:
            with pytest.raises(IndexError, match=error):
                function(*given)
        else:
            same(function(*given), program(x, torch.tensor(index)), **CLOSE)


def test_random_numbers_in_a_while_loop_are_refused():
    program = counted(3, lambda x, i: x + torch.rand_like(x))
    with pytest.raises(NotImplementedError, match="draws random numbers"):
        compiled(program)(torch.ones(4, device="neuron"))


def test_the_gradient_of_a_while_loop_breaks_the_graph():
    program = counted(3, lambda x, i: x.sin())
    want = run(program, "cpu", [random(4)], True)
    got = run(compiled(program), "neuron", [random(4)], True)
    same(got, want, **CLOSE)


# Without torch.compile


@both
def test_eager_control_flow(gradient):
    def program(x):
        y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        return y + counted(3, lambda x, i: x.sin())(x)[1]

    want = run(program, "cpu", [random(3, 4)], gradient)
    same(run(program, "neuron", [random(3, 4)], gradient), want, **CLOSE)


# Inner regions and autograd functions


@torch.compiler.nested_compile_region
def block(x, w):
    return torch.std_mean(x @ w, 1, keepdim=True)[0] + x.sin()


@both
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_region_called_several_times(dynamic, gradient):
    def program(x, w, v):
        return block(block(x, w), v) + block(w, v).sum()

    inputs = random(3, 4), random(4, 4, seed=1), random(4, 4, seed=2)
    agree_compiled(program, *inputs, gradient=gradient, dynamic=dynamic)


def test_a_region_of_several_shapes():
    @torch.compiler.nested_compile_region
    def region(x):
        return x * x.shape[0] + x.sum()

    def program(x, y):
        return region(x), region(y), region(x)

    function = compiled(program, fullgraph=True, dynamic=True)
    for n, m in ((3, 5), (6, 4)):
        same(
            function(on("neuron", random(n)), on("neuron", random(m))),
            program(random(n), random(m)),
        )


def test_what_another_backend_may_quantize():
    quantized = InvokeQuant()

    def program(x, y):
        return quantized(lambda x, y: (x.sin() * y,), x, y, scheme="anything")[0] + 1

    agree_compiled(program, random(3, 4), random(3, 4, seed=1))


class Halved(torch.autograd.Function):
    """Whose gradient is not that of what it computes."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.exp()


def test_autograd_functions():
    agree_compiled(lambda x: Halved.apply(x.sin()).cos(), random(3, 4), gradient=True)


def test_under_autocast():
    @torch.compiler.nested_compile_region
    def region(x, w):
        return (x @ w).sin()

    def chosen(x, w):
        return torch.cond(x.sum() > 0, lambda x, w: x @ w, lambda x, w: w @ x, (x, w))

    def program(x, w):
        with torch.autocast("neuron"):
            return chosen(x, w), region(x, w)

    def reference(x, w):
        return x @ w if x.sum() > 0 else w @ x, (x @ w).sin()

    x, w = random(4, 4), random(4, 4, seed=1)
    narrow = [t.bfloat16() for t in (x, w)]
    got = compiled(program, fullgraph=True)(on("neuron", x), on("neuron", w))
    assert [t.dtype for t in got] == [torch.bfloat16] * 2
    # One rounding of each product, whose terms are of order one.
    same(got, reference(*narrow), rtol=0.02, atol=0.02)
