"""Dtypes that do not go together, results that do not fit, numbers out of a dtype's range."""

import pytest
import torch
import torch.nn.functional as F
from refusal import integers, raised, readable, refused, values

F64, BF16, I8, I64 = torch.float64, torch.bfloat16, torch.int8, torch.int64
C64 = torch.complex64


def v(device, *shape, dtype=torch.float32):
    return values(device, *shape, dtype=dtype)


def mask(device, *shape):
    return v(device, *shape) > 0


MIXED = {
    "mm": lambda d: torch.mm(v(d, 3, 3), v(d, 3, 3, dtype=F64)),
    "mm_int": lambda d: torch.mm(v(d, 3, 3), v(d, 3, 3, dtype=I64)),
    "bmm": lambda d: torch.bmm(v(d, 1, 3, 3), v(d, 1, 3, 3, dtype=BF16)),
    "addmm": lambda d: torch.addmm(v(d, 3), v(d, 3, 3), v(d, 3, 3, dtype=F64)),
    "baddbmm": lambda d: torch.baddbmm(v(d, 3, dtype=F64), v(d, 1, 3, 3), v(d, 1, 3, 3)),
    "dot": lambda d: torch.dot(v(d, 3), v(d, 3, dtype=F64)),
    "mv": lambda d: torch.mv(v(d, 3, 3), v(d, 3, dtype=F64)),
    "linear": lambda d: F.linear(v(d, 3, 4), v(d, 5, 4, dtype=BF16)),
    "linear_bias": lambda d: F.linear(v(d, 3, 4), v(d, 5, 4), v(d, 5, dtype=BF16)),
    "conv": lambda d: F.conv2d(v(d, 1, 3, 5, 5), v(d, 4, 3, 3, 3, dtype=F64)),
    "conv_bias": lambda d: F.conv2d(v(d, 1, 3, 5, 5), v(d, 4, 3, 3, 3), v(d, 4, dtype=F64)),
    "layer_norm": lambda d: F.layer_norm(v(d, 3, 4), (4,), v(d, 4, dtype=F64)),
    "attention": lambda d: F.scaled_dot_product_attention(
        v(d, 1, 2, 3, 4), v(d, 1, 2, 3, 4, dtype=BF16), v(d, 1, 2, 3, 4)
    ),
    "lerp": lambda d: torch.lerp(v(d, 3), v(d, 3, dtype=F64), 0.5),
    "scatter": lambda d: v(d, 3, 4).scatter(0, integers(d, [0]), v(d, 1, 1, dtype=F64)),
    "index_put": lambda d: v(d, 3, 4).index_put_((integers(d, 0),), v(d, 1, dtype=F64)),
    "index_add": lambda d: v(d, 3, 4).index_add(0, integers(d, 0), v(d, 1, 4, dtype=F64)),
    "index_copy": lambda d: v(d, 3, 4).index_copy(0, integers(d, 0), v(d, 1, 4, dtype=F64)),
    "put": lambda d: v(d, 3).put_(integers(d, 0), v(d, 1, dtype=F64)),
    "masked_scatter": lambda d: v(d, 3).masked_scatter(mask(d, 3), v(d, 3, dtype=F64)),
    "masks_are_bool": lambda d: v(d, 3).masked_fill(v(d, 3), 1.0),
    "where_is_bool": lambda d: torch.where(v(d, 3), v(d, 3), v(d, 3)),
    "bce": lambda d: F.binary_cross_entropy(v(d, 3).sigmoid(), v(d, 3, dtype=F64)),
}
KINDS = {
    "mean_int": lambda d: v(d, 3, dtype=I64).mean(),
    "std_int": lambda d: v(d, 3, dtype=I64).std(),
    "softmax_int": lambda d: v(d, 3, dtype=I64).softmax(0),
    "sqrt__int": lambda d: v(d, 3, dtype=I64).sqrt_(),
    "div__int": lambda d: v(d, 3, dtype=I64).div_(2),
    "add__float": lambda d: v(d, 3, dtype=I64).add_(0.5),
    "add__float_tensor": lambda d: v(d, 3, dtype=I64).add_(v(d, 3)),
    "add__complex": lambda d: v(d, 3).add_(1j),
    "alpha_float": lambda d: v(d, 3, dtype=I64).add(v(d, 3, dtype=I64), alpha=0.5),
    "alpha_of_bool": lambda d: mask(d, 3).add(mask(d, 3), alpha=2.5),
    "sub_bool": lambda d: mask(d, 3) - mask(d, 3),
    "sub_from_bool": lambda d: mask(d, 3) - 1,
    "sub_from_no_bool": lambda d: mask(d, 0) - 1,
    "neg_bool": lambda d: -mask(d, 3),
    "not_float": lambda d: ~v(d, 3),
    "and_float": lambda d: v(d, 3) & v(d, 3),
    "pow_int": lambda d: v(d, 3, dtype=I64) ** -1,
    "less_complex": lambda d: v(d, 3, dtype=C64) < 1,
    "max_complex": lambda d: v(d, 3, dtype=C64).max(),
    "sort_complex": lambda d: v(d, 3, dtype=C64).sort(),
    "relu_complex": lambda d: F.relu(v(d, 3, dtype=C64)),
    "floor_complex": lambda d: v(d, 3, dtype=C64).floor(),
    "clamp_complex": lambda d: v(d, 3, dtype=C64).clamp(0, 1),
    "mse_int": lambda d: F.mse_loss(v(d, 3, dtype=I64), v(d, 3, dtype=I64)),
    "requires_grad_int": lambda d: v(d, 3, dtype=I64).requires_grad_(),
}
OUT = {
    "add": lambda d: torch.add(v(d, 3), v(d, 3), out=v(d, 3, dtype=I64)),
    "mm": lambda d: torch.mm(v(d, 3, 3), v(d, 3, 3), out=v(d, 3, 3, dtype=F64)),
    "cat": lambda d: torch.cat([v(d, 3), v(d, 3)], out=v(d, 6, dtype=I64)),
    "mean": lambda d: torch.mean(v(d, 3), 0, out=v(d, dtype=I64)),
    "argmax": lambda d: torch.argmax(v(d, 3), 0, out=v(d, dtype=torch.int32)),
    "max": lambda d: torch.max(v(d, 3), 0, out=(v(d), v(d))),
    "sort": lambda d: torch.sort(v(d, 3), out=(v(d, 3), v(d, 3))),
    "topk": lambda d: torch.topk(v(d, 3), 2, out=(v(d, 2), v(d, 2))),
    "index_select": lambda d: torch.index_select(
        v(d, 3), 0, integers(d, 0), out=v(d, 1, dtype=I64)
    ),
    "gather": lambda d: torch.gather(v(d, 3), 0, integers(d, 0), out=v(d, 1, dtype=I64)),
    "clamp": lambda d: torch.clamp(v(d, 3), 0, 1, out=v(d, 3, dtype=I64)),
    "logcumsumexp": lambda d: torch.logcumsumexp(v(d, 3), 0, out=v(d, 3, dtype=I64)),
    "norm": lambda d: torch.norm(v(d, 3), out=v(d, dtype=I64)),
    "requires_grad": lambda d: torch.add(v(d, 3).requires_grad_(), v(d, 3), out=v(d, 3)),
}
NUMBERS = {
    "fill_": lambda d, t, n: v(d, 3, dtype=t).fill_(n),
    "full": lambda d, t, n: torch.full((3,), n, dtype=t, device=d),
    "full_like": lambda d, t, n: torch.full_like(v(d, 3, dtype=t), n),
    "new_full": lambda d, t, n: v(d, 3, dtype=t).new_full((2,), n),
    "setitem": lambda d, t, n: v(d, 3, dtype=t).__setitem__(0, n),
    "masked_fill": lambda d, t, n: v(d, 3, dtype=t).masked_fill(mask(d, 3), n),
    "index_fill": lambda d, t, n: v(d, 3, dtype=t).index_fill(0, integers(d, 0), n),
    "scatter": lambda d, t, n: v(d, 3, dtype=t).scatter(0, integers(d, 0), n),
    "clamp": lambda d, t, n: v(d, 3, dtype=t).clamp(-n, n),
    "pad": lambda d, t, n: F.pad(v(d, 3, dtype=t), (1, 1), value=n),
}


@pytest.mark.parametrize("name", MIXED)
def test_dtypes_that_do_not_mix(name):
    refused(MIXED[name])


@pytest.mark.parametrize("name", KINDS)
def test_operators_without_a_meaning_for_the_dtype(name):
    refused(KINDS[name])


@pytest.mark.parametrize("name", OUT)
def test_results_that_do_not_fit_their_out_argument(name):
    refused(OUT[name])


@pytest.mark.parametrize("name", ["less_complex", "relu_complex", "floor_complex", "sort_complex"])
def test_complex_numbers_have_no_order_at_any_size(name):
    large = {
        "less_complex": lambda d: torch.zeros(10_000, dtype=C64, device=d) < 1,
        "relu_complex": lambda d: F.relu(torch.zeros(10_000, dtype=C64, device=d)),
        "floor_complex": lambda d: torch.zeros(10_000, dtype=C64, device=d).floor(),
        "sort_complex": lambda d: torch.zeros(10_000, dtype=C64, device=d).sort(),
    }
    refused(large[name])


@pytest.mark.parametrize(("dtype", "number"), [(I8, 1000), (torch.float16, 1e6)])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_the_dtype_cannot_hold(name, dtype, number):
    if (name, dtype) == ("setitem", torch.float16):
        pytest.skip("PyTorch fills one element through a kernel that does not look")
    NUMBERS[name]("neuron", dtype, 1)  # its program must not serve the next call
    refused(lambda d: NUMBERS[name](d, dtype, number))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (I8, float("nan")),
        (I8, float("inf")),
        (torch.uint8, -300),
        (torch.int32, 2**40),
        (I64, 2**63),
        (I64, 1e30),
        (torch.float32, 1e300),
        (torch.float32, 1j),
    ],
)
def test_fill_values_that_the_dtype_cannot_hold(dtype, number):
    refused(lambda d: v(d, 3, dtype=dtype).fill_(number))
    refused(lambda d: torch.full((3,), number, dtype=dtype, device=d))


def test_numbers_at_the_edge_of_the_dtype():
    for dtype in (I8, torch.uint8, torch.int32, I64):
        for number in (torch.iinfo(dtype).min, torch.iinfo(dtype).max):
            assert v("neuron", 2, dtype=dtype).fill_(number).tolist() == [number] * 2
    assert v("neuron", 2).fill_(float("-inf")).tolist() == [float("-inf")] * 2
    assert v("neuron", 2, dtype=torch.float16).fill_(65504).tolist() == [65504] * 2


def test_arithmetic_with_large_numbers_wraps_as_on_the_cpu():
    for program in (
        lambda d: v(d, 3, dtype=I8) + 1000,
        lambda d: v(d, 3, dtype=I8) * 1000,
        lambda d: v(d, 3, dtype=I8) == 1000,
        lambda d: v(d, 3, dtype=torch.uint8) - 300,
        lambda d: v(d, 3, dtype=torch.float16) * 1e6,
    ):
        assert torch.equal(program("neuron").cpu(), program("cpu"))


@pytest.mark.parametrize("dtype", [torch.uint4, torch.int4, torch.complex32])
def test_dtypes_that_the_device_lacks(dtype):
    for program in (
        lambda d: torch.zeros(3, dtype=dtype, device=d),
        lambda d: torch.empty(3, dtype=dtype, device=d) + 1,
        lambda d: torch.empty(3, dtype=dtype, device=d)[0].item(),
        lambda d: torch.empty(3, dtype=dtype).to(d),
    ):
        error = raised(program)
        assert type(error) is NotImplementedError
        assert "neuron devices have no element type for" in readable(error)
    assert torch.empty(4, dtype=dtype, device="neuron").view(torch.uint8).tolist()[0] == 0


def test_an_op_on_a_dtype_that_the_device_lacks_is_named():
    half = torch.ones(3, 2, dtype=torch.float16, device="neuron")
    for op, program in (
        ("copy_", lambda: half.chalf()),
        ("complex", lambda: torch.complex(half, half)),
        ("sum", lambda: half.sum(dtype=torch.complex32)),
        ("view_as_complex", torch.compile(lambda: torch.view_as_complex(half), backend="neuron")),
    ):
        with pytest.raises(NotImplementedError, match=rf"aten\.{op}\b.*torch\.complex32"):
            program()
