"""Operators over lists of tensors agree with the CPU and run as one program."""

import pytest
import torch
from agreement import agree

import torch_neuronx

SHAPES = [(3, 4), (5,), ()]
UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
    "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"]


def tensors(seed=0, dtype=torch.float32, low=0.1, high=0.9):
    generator = torch.Generator().manual_seed(seed)
    return [(torch.rand(s, generator=generator) * (high - low) + low).to(dtype) for s in SHAPES]


def lists(fn, *args):
    """agree() for functions whose arguments are lists of tensors."""
    sizes = [len(a) for a in args]

    def flat(*xs):
        rest = list(xs)
        return fn(*[[rest.pop(0) for _ in range(n)] for n in sizes])

    agree(flat, *(x for a in args for x in a))


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    lists(getattr(torch, f"_foreach_{name}"), tensors())
    lists(getattr(torch, f"_foreach_{name}_"), tensors())


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    op, in_place = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
    x, y = tensors(), tensors(1)
    lists(lambda x, y: op(x, y), x, y)
    lists(lambda x: op(x, 0.5), x)
    lists(lambda x: op(x, [0.5, 1.0, 2.0]), x)
    lists(lambda x, y: in_place(x, y), x, y)
    lists(lambda x: in_place(x, 0.25), x)


def test_powers():
    x, y = tensors(), tensors(1)
    lists(lambda x, y: torch._foreach_pow(x, y), x, y)
    lists(lambda x: [*torch._foreach_pow(x, 2), *torch._foreach_pow(x, [0.5, 1.5, 3.0])], x)
    lists(lambda x: torch._foreach_pow(0.9, x), x)


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_three_lists(name):
    op, in_place = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
    args = tensors(), tensors(1), tensors(2)
    lists(lambda *a: op(*a, 0.3), *args)
    lists(lambda *a: op(*a, [0.1, 0.2, 0.3]), *args)
    lists(lambda *a: in_place(*a, -2), *args)


def test_lerp_norm_max_copy_zero():
    x, y, w = tensors(), tensors(1), tensors(2)
    lists(lambda *a: torch._foreach_lerp(*a), x, y, w)
    lists(
        lambda x, y: [*torch._foreach_lerp(x, y, 0.3), *torch._foreach_lerp(x, y, [0.1, 0.6, 1.0])],
        x,
        y,
    )
    lists(
        lambda x: [*torch._foreach_norm(x), *torch._foreach_norm(x, 1), *torch._foreach_max(x)], x
    )
    lists(lambda x, y: torch._foreach_copy_(x, y), x, tensors(3, torch.bfloat16))
    lists(torch._foreach_zero_, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64], ids=str)
@pytest.mark.parametrize("numbers", [[1, 2.5, 3], [True, 2, 0.5], [2, 1.5, 1 + 2j]], ids=str)
def test_numbers_of_several_types(dtype, numbers):
    """Each tensor's result has the dtype that its own number gives it."""
    x = tensors(dtype=dtype, low=1, high=5)
    for op in (torch._foreach_add, torch._foreach_mul, torch._foreach_div):
        lists(lambda x, op=op: op(x, numbers), x)


def test_booleans_to_the_power_of_booleans():
    x = [torch.tensor([True, False]), torch.tensor([False])]
    lists(lambda x: [*torch._foreach_pow(x, [True, False]), *torch._foreach_pow(x, True)], x)


def test_scalar_lists_are_run_time_inputs():
    x = [t.to("neuron") for t in tensors()]
    torch._foreach_mul_(x, [1.5, 2.5, 3.5])
    before = len(torch_neuronx.explain().rows)
    torch._foreach_mul_(x, [0.1, 0.2, 0.3])
    torch._foreach_mul_(x, [7.0, 8.0, 9.0])
    assert len(torch_neuronx.explain().rows) == before


@pytest.mark.parametrize("write", [
    lambda x: torch._foreach_add_([x], -1),
    lambda x: torch._foreach_mul_([x, x.clone()], [x.clone(), x.clone()]),
    lambda x: torch._foreach_zero_([x.view(torch.int32)]),
])  # fmt: skip
def test_autograd_refuses_what_a_foreach_operator_has_written(write):
    def program(device):
        x = torch.ones(3, device=device, requires_grad=True)
        y = x * 2
        z = y.square()
        write(y.detach())
        z.sum().backward()

    for device in ("cpu", "neuron"):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            program(device)
