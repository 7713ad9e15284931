"""Writes that PyTorch refuses: to expanded tensors, over their own inputs, to leaves; and integer
division by zero.
"""

import pytest
import torch
import torch.nn.functional as F
from refusal import integers, raised, readable, refused, values

I64 = torch.int64


def v(device, *shape, dtype=torch.float32):
    return values(device, *shape, dtype=dtype)


def expanded(device, *shape):
    return v(device, 1).expand(*(shape or (3,)))


def mask(device, *shape):
    return v(device, *shape) > 0


EXPANDED = {
    "add_": lambda d: expanded(d).add_(1),
    "mul_": lambda d: expanded(d).mul_(2),
    "copy_": lambda d: expanded(d).copy_(v(d, 3)),
    "copy_from_host": lambda d: expanded(d).copy_(v("cpu", 3)),
    "setitem": lambda d: expanded(d).__setitem__(slice(0, 2), 1.0),
    "relu_": lambda d: expanded(d).relu_(),
    "silu_": lambda d: F.silu(expanded(d), inplace=True),
    "clamp_": lambda d: expanded(d).clamp_(0, 1),
    "pow_": lambda d: expanded(d).pow_(2),
    "addcmul_": lambda d: expanded(d).addcmul_(v(d, 3), v(d, 3)),
    "lerp_": lambda d: expanded(d).lerp_(v(d, 3), 0.5),
    "addmm_": lambda d: expanded(d, 3, 3).addmm_(v(d, 3, 3), v(d, 3, 3)),
    "index_add_": lambda d: expanded(d).index_add_(0, integers(d, 0), v(d, 1)),
    "index_copy_": lambda d: expanded(d).index_copy_(0, integers(d, 0), v(d, 1)),
    "scatter_": lambda d: expanded(d).scatter_(0, integers(d, 0), 1.0),
    "scatter_add_": lambda d: expanded(d).scatter_add_(0, integers(d, 0), v(d, 1)),
    "put_": lambda d: expanded(d).put_(integers(d, 0), v(d, 1)),
    "masked_scatter_": lambda d: expanded(d).masked_scatter_(mask(d, 3), v(d, 3)),
    "normal_": lambda d: expanded(d).normal_(),
    "uniform_": lambda d: expanded(d).uniform_(),
    "bernoulli_": lambda d: expanded(d).bernoulli_(0.5),
    "cumsum_": lambda d: expanded(d).cumsum_(0),
    "foreach_add_": lambda d: torch._foreach_add_([expanded(d)], 1.0),
    "out": lambda d: torch.add(v(d, 3), v(d, 3), out=expanded(d)),
}
# PyTorch's CPU kernels take these with a warning; what they leave depends on their loops.
AMBIGUOUS = {
    "index_put_": lambda d: expanded(d).index_put_((integers(d, 0),), v(d, 1) + 1),
    "index_fill_": lambda d: expanded(d).index_fill_(0, integers(d, 0), 1.0),
    "masked_fill_": lambda d: expanded(d).masked_fill_(integers(d, 1, 0, 0).bool(), 1.0),
    "addmv_": lambda d: expanded(d).addmv_(v(d, 3, 3), v(d, 3)),
}


def window(device, write):
    """`write(later, earlier)` with two views that overlap in part."""
    x = v(device, 4)
    return write(x[1:], x[:-1])


OVERLAPPING = {
    "add_": lambda d: window(d, lambda a, b: a.add_(b)),
    "copy_": lambda d: window(d, lambda a, b: a.copy_(b)),
    "clamp_": lambda d: window(d, lambda a, b: a.clamp_(b)),
    "addcmul_": lambda d: window(d, lambda a, b: a.addcmul_(b, a)),
    "transposed": lambda d: (lambda x: x.sub_(x.t()))(v(d, 3, 3)),
    "masked_fill_": lambda d: (lambda x: x[1:].masked_fill_(x[:-1], 1))(mask(d, 4)),
    "index_put_": lambda d: (lambda x: x.index_put_((integers(d, 0),), x[1:2]))(v(d, 4)),
    "index_add_": lambda d: (lambda x: x.index_add_(0, integers(d, 0), x[1:2]))(v(d, 4)),
    "index_copy_": lambda d: (lambda x: x.index_copy_(0, integers(d, 0), x[1:2]))(v(d, 4)),
    "scatter_": lambda d: (lambda x: x.scatter_(0, integers(d, 0), x[1:2]))(v(d, 4)),
    "out": lambda d: window(d, lambda a, b: torch.add(b, 1, out=a)),
    "out_maximum": lambda d: window(d, lambda a, b: torch.maximum(a, b, out=a)),
    "out_gather": lambda d: window(d, lambda a, b: torch.gather(b, 0, integers(d, 0, 1), out=a)),
    "out_cat": lambda d: (lambda x: torch.cat([x[:2], x[:2]], out=x))(v(d, 4)),
    "out_cat_resized": lambda d: (lambda x: torch.cat([x, x], out=x))(v(d, 4)),
    "index_put_itself": lambda d: (lambda x: x.index_put_((integers(d, 1, 1, 0),), x))(v(d, 3)),
    "index_add_itself": lambda d: (lambda x: x.index_add_(0, integers(d, 1, 1, 0), x))(v(d, 3)),
    "index_copy_itself": lambda d: (lambda x: x.index_copy_(0, integers(d, 1, 2, 0), x))(v(d, 3)),
    "scatter_itself": lambda d: (lambda x: x.scatter_(0, integers(d, 1, 1, 0), x))(v(d, 3)),
    "out_gather_itself": lambda d: (lambda x: torch.gather(x, 0, integers(d, 1, 0, 2), out=x))(
        v(d, 3)
    ),
    "out_index_select": lambda d: (
        lambda x: torch.index_select(x, 0, integers(d, 1, 0), out=x[:2])
    )(v(d, 4)),
}


def leaf(device):
    return v(device, 3).requires_grad_()


LEAVES = {
    "add_": lambda d: leaf(d).add_(1),
    "copy_": lambda d: leaf(d).copy_(v(d, 3)),
    "zero_": lambda d: leaf(d).zero_(),
    "normal_": lambda d: leaf(d).normal_(),
    "setitem": lambda d: leaf(d).__setitem__(0, 1.0),
    "view": lambda d: leaf(d)[0].add_(1),
    "foreach_add_": lambda d: torch._foreach_add_([leaf(d)], 1.0),
    "resize_": lambda d: leaf(d).resize_(5),
    "unbind": lambda d: leaf(d).mul(1).unbind()[0].add_(1),
    "backward_twice": lambda d: (lambda y: (y.backward(), y.backward()))((leaf(d) ** 2).sum()),
    "backward_of_many": lambda d: (leaf(d) * 2).backward(),
    "backward_shape": lambda d: (leaf(d) * 2).backward(v(d, 4)),
    "no_gradient": lambda d: v(d, 3).sum().backward(),
    "modified": lambda d: (lambda y: (y.add_(1), y.sum().backward()))(leaf(d).exp()),
}


def zeros(device, *shape, dtype=I64):
    return torch.zeros(*(shape or (3,)), dtype=dtype).to(device)


DIVISIONS = {
    "floor": lambda d: v(d, 3, dtype=I64) // 0,
    "floor_tensor": lambda d: v(d, 3, dtype=I64) // zeros(d),
    "floor_last": lambda d: v(d, 3, dtype=torch.int32) // integers(d, 1, 2, 0, dtype=torch.int32),
    "floor_uint8": lambda d: v(d, 3, dtype=torch.uint8) // 0,
    "floor_0d": lambda d: v(d, dtype=I64) // v(d, dtype=I64),
    "floor_": lambda d: v(d, 3, dtype=I64).floor_divide_(0),
    "number_by_tensor": lambda d: 5 // zeros(d),
    "remainder": lambda d: v(d, 3, dtype=I64) % 0,
    "remainder_int8": lambda d: v(d, 3, dtype=torch.int8) % zeros(d, dtype=torch.int8),
    "remainder_": lambda d: v(d, 3, dtype=I64).remainder_(0),
    "fmod": lambda d: torch.fmod(v(d, 3, dtype=I64), 0),
    "fmod_tensor": lambda d: torch.fmod(v(d, 3, dtype=I64), zeros(d)),
    "trunc": lambda d: torch.div(v(d, 3, dtype=I64), 0, rounding_mode="trunc"),
    "rounding_mode": lambda d: torch.div(v(d, 3), 1, rounding_mode="up"),
}
FAMILIES = {
    f"{family}-{name}": program
    for family, programs in {
        "expanded": EXPANDED,
        "overlapping": OVERLAPPING,
        "leaf": LEAVES,
        "division": DIVISIONS,
    }.items()
    for name, program in programs.items()
}


@pytest.mark.parametrize("name", FAMILIES)
def test_refused_writes(name):
    refused(FAMILIES[name])


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_writes_whose_result_would_depend_on_the_order(name):
    error = raised(AMBIGUOUS[name])
    assert type(error) is RuntimeError
    assert "more than one element of the written-to tensor refers to a single memory" in readable(
        error
    )


def test_a_number_may_fill_an_expanded_tensor():
    x = v("neuron", 4)
    x[1:2].expand(3).fill_(5)
    x[2:3].expand(2, 3).zero_()
    assert x.tolist() == [0, 5, 0, 0.375]


def test_a_warm_program_checks_its_divisor_too():
    x = integers("neuron", 4, 6)
    assert (x // 2).tolist() == [2, 3]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            x // 0
    assert (x // 2).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x.floor_divide_(0)
    assert x.tolist() == [4, 6]


def test_overlaps_depend_on_the_offset_and_not_on_a_program_seen_before():
    x = v("neuron", 8)
    x[4:8].add_(x[0:4])  # apart
    with pytest.raises(RuntimeError, match="memory location"):
        x[2:6].add_(x[0:4])
    assert torch.equal(x.cpu()[:4], v("cpu", 4))
