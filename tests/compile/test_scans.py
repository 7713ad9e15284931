"""scan, map and associative_scan in compiled graphs. The oracle is eager PyTorch on the CPU."""

import pytest
import torch
from agreement import on, random, same
from graphs import compiled
from oracle import CLOSE, agree_compiled
from torch._higher_order_ops.associative_scan import associative_scan, associative_scan_op
from torch._higher_order_ops.map import map as hop_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

both = pytest.mark.parametrize("gradient", [False, True], ids=["inference", "training"])


@both
def test_scan(gradient):
    def program(x, w):
        return scan(lambda c, v: ((c * w + v).sin(), c + v), torch.zeros_like(x[0]), x)

    agree_compiled(program, random(5, 3, 4), random(3, 4, seed=1), gradient=gradient)


@both
@pytest.mark.parametrize("length", [1, 40])
def test_scan_along_any_dimension_backwards(length, gradient):
    def program(x):
        first = torch.zeros_like(x.select(1, 0), memory_format=torch.contiguous_format)
        return scan(lambda c, v: (c * 0.5 + v, c * v), first, x, dim=1, reverse=True)

    agree_compiled(program, random(3, length), gradient=gradient)


def test_scan_over_structures():
    def step(carry, x):
        a, b = carry["a"] / 2 + x[0].sin(), carry["b"] * x[1].cos()
        return {"a": a, "b": b}, [a * b, (a * b).sin()]

    def program(x, y):
        init = {"a": torch.zeros_like(x[0]), "b": torch.ones_like(y[0])}
        return scan(step, init, [x, y])

    agree_compiled(program, random(6, 4), random(6, 4, seed=1))


def test_scan_with_dynamic_shapes():
    def program(x):
        n = x.shape[0]
        return scan(lambda c, v: (c + v * n, c.sin()), torch.zeros_like(x[0]), x)

    function = compiled(program, fullgraph=True, dynamic=True)
    for shape in ((3, 4), (7, 2), (5, 5)):
        same(function(on("neuron", random(*shape))), program(random(*shape)), **CLOSE)


def test_scan_draws_the_random_numbers_of_eager():
    def program(x):
        def step(c, v):
            return c + torch.rand_like(v), torch.nn.functional.dropout(v, 0.5)

        return *scan(step, torch.zeros_like(x[0]), x), torch.rand_like(x)

    x = torch.ones(4, 10, device="neuron")
    torch.manual_seed(0)
    total, kept = torch.zeros_like(x[0]), []
    for row in x:
        total = total + torch.rand_like(row)
        kept.append(torch.nn.functional.dropout(row, 0.5))
    want = [t.cpu() for t in (total, torch.stack(kept), torch.rand_like(x))]
    torch.manual_seed(0)
    same(list(compiled(program, fullgraph=True)(x)), want)


def test_scan_raises_what_a_round_checks():
    def program(x, index):
        return scan(lambda c, i: (c + x.take(i), c * 2), torch.zeros_like(x[0]), index)

    function, x = compiled(program, fullgraph=True), random(4)
    index = torch.tensor([[0, 3], [1, 1]])[:, 0]
    same(function(on("neuron", x), on("neuron", index)), program(x, index), **CLOSE)
    with pytest.raises(IndexError, match="tried to access index 7 on a tensor of 4 elements"):
        function(on("neuron", x), torch.tensor([0, 7], device="neuron"))


@both
def test_map(gradient):
    def program(x, w):
        return hop_map(lambda v, w: (v.sin() @ w, v.sum()), x, w)

    agree_compiled(program, random(5, 3, 4), random(4, 4, seed=1), gradient=gradient)


@both
def test_map_over_structures(gradient):
    def program(x, y):
        return hop_map(lambda v: {"sum": v[0] + v[1], "product": v[0] * v[1]}, [x, y])

    agree_compiled(program, random(5, 4), random(5, 4, seed=1), gradient=gradient)


# Operators inside operators


@both
def test_cond_in_scan(gradient):
    def step(c, v):
        chosen = torch.cond(v.sum() > 0, lambda c, v: c + v, lambda c, v: c.sin() - v, (c, v))
        return chosen, c * v

    def program(x):
        return scan(step, torch.zeros_like(x[0]), x)

    agree_compiled(program, random(6, 4), gradient=gradient)


def test_while_in_scan_and_the_other_way_round():
    def settle(x, limit):
        start = torch.zeros((), dtype=torch.int64, device=x.device), x
        return while_loop(lambda i, x: x.abs().sum() > limit, lambda i, x: (i + 1, x / 2), start)

    def inside(x):
        return scan(lambda c, v: (settle(c + v, 1)[1], settle(v, 2)[0]), torch.zeros_like(x[0]), x)

    def outside(x):
        def body(i, x):
            return i + 1, scan(lambda c, v: (c + v, c.sin()), torch.zeros_like(x[0]), x)[1]

        start = torch.zeros((), dtype=torch.int64, device=x.device), x
        return while_loop(lambda i, x: i < 3, body, start)

    agree_compiled(inside, random(5, 4))
    agree_compiled(outside, random(5, 4))


# associative_scan


@both
def test_associative_scan(gradient):
    def program(x):
        return associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")

    agree_compiled(program, random(13, 3), gradient=gradient)


@both
@pytest.mark.parametrize("length", [1, 2, 33])
def test_associative_scan_with_an_inner_graph(length, gradient):
    def combine(a, b, c, d):
        return [a * c, b * c + d]

    def program(x, y):
        return associative_scan_op(combine, [x.sigmoid(), y], ())

    agree_compiled(program, random(length, 3), random(length, 3, seed=1), gradient=gradient)
