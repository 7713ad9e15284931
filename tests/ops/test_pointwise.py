"""Functions of single elements agree with the CPU: every dtype, the special values, the error
cases.
"""

import math

import pytest
import torch
from agreement import agree, refused
from torch.testing._internal.common_methods_invocations import op_db

import torch_neuronx

aten = torch.ops.aten
INF, NAN = math.inf, math.nan
EDGES = torch.tensor([NAN, -INF, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, INF])
DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]

# One sample per dtype of every element-by-element operator in PyTorch's own database, but for
# copies, random numbers and special functions, which have tests of their own.
SKIP = {
    "empty_like",
    "clone",
    "double",
    "chalf",
    "long",
    "float",
    "half",
    "bfloat16",
    "nn.functional.prelu",
    "nn.functional.rrelu",
}
OPERATORS = [
    info
    for info in op_db
    if type(info).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo")
    and info.name not in SKIP
    and not info.name.startswith(("special.", "_refs", "jiterator"))
]


def bounds(dtype):
    """A few roundings of the result; half precision also cancels."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return {}
    eps = torch.finfo(dtype).eps
    return {"rtol": 4 * eps if dtype == torch.bfloat16 else 16 * eps, "atol": 16 * eps}


@pytest.mark.parametrize("info", OPERATORS, ids=lambda i: i.formatted_name)
def test_operator(info):
    kinds = (torch.float32, torch.complex64, torch.int64)
    dtype = next(kind for kind in kinds if info.supports_dtype(kind, "cpu"))
    sample = next(iter(info.sample_inputs("cpu", dtype)))
    agree(
        lambda x, *a: info.op(x, *a, **sample.kwargs), sample.input, *sample.args, **bounds(dtype)
    )


def within(domain, count):
    """`count` numbers of a function's domain, near 0 where it has no end."""
    low, high = (
        4.0 * sign if end is None else end for sign, end in zip((-1, 1), domain, strict=True)
    )
    return torch.linspace(low, high, count + 2)[1:-1]


# The gamma functions cancel near their zeros: test_special has bounds for them.
FLOAT_FUNCTIONS = [
    info
    for info in OPERATORS
    if type(info).__name__ == "UnaryUfuncInfo"
    and info.supports_dtype(torch.float32, "cpu")
    and "gamma" not in info.name
]


@pytest.mark.parametrize("info", FLOAT_FUNCTIONS, ids=lambda i: i.formatted_name)
def test_many_elements(info):
    """Enough for a vectorized loop and its remainder."""
    sample = next(iter(info.sample_inputs("cpu", torch.float32)))
    x = within(info.domain, 1003)
    agree(lambda x: info.op(x, *sample.args, **sample.kwargs), x, **bounds(torch.float32))


def test_many_angles():
    x, y = within((None, None), 1003), within((-1, 2), 1003).flip(0)
    agree(lambda x, y: [torch.atan2(y, x), torch.atan2(y, torch.ones_like(x))], x, y)
    agree(lambda x: [torch.atan(x.double()), torch.atan(x.bfloat16())], x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "eq", "where", "neg"])
def test_arithmetic_in_every_dtype(name, dtype):
    info = next(i for i in op_db if i.name == name)
    if not info.supports_dtype(dtype, "cpu"):
        pytest.skip(f"no CPU kernel for {dtype}")
    sample = next(iter(info.sample_inputs("cpu", dtype)))
    agree(
        lambda x, *a: info.op(x, *a, **sample.kwargs), sample.input, *sample.args, **bounds(dtype)
    )


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64], ids=str)
def test_wide_unsigned_integers(dtype):
    x = torch.tensor([0, 1, 2**15, torch.iinfo(dtype).max], dtype=dtype)
    agree(lambda x: [x * x, x & x, x == x, x.to(torch.float32), x.sum()], x)


EDGE_OPERATORS = [
    torch.relu, torch.sign, torch.ceil, torch.floor, torch.round, torch.trunc, torch.frac,
    torch.isnan, torch.isneginf, torch.isposinf, torch.isinf, torch.isfinite, torch.signbit,
    torch.abs, torch.reciprocal, torch.sigmoid, torch.tanh, torch.exp2, torch.angle, torch.sgn,
    torch.nan_to_num, torch.sinc, torch.logical_not, torch.nn.functional.silu,
    torch.nn.functional.hardswish,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_special_values(dtype):
    x = EDGES.to(dtype)
    agree(lambda x: [op(x) for op in EDGE_OPERATORS], x, **bounds(dtype))


@pytest.mark.parametrize(
    "op",
    [
        torch.floor_divide, torch.remainder, torch.fmod, torch.atan2, torch.copysign, torch.hypot,
        torch.maximum, torch.minimum, torch.fmax, torch.fmin, torch.logaddexp, torch.logaddexp2,
        torch.nextafter, torch.pow, torch.xlogy, torch.heaviside, torch.true_divide,
    ],
    ids=lambda op: op.__name__,
)  # fmt: skip
def test_special_values_in_pairs(op):
    agree(op, EDGES[:, None], EDGES)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.int64, 1j),
        (torch.int64, 1e30),
        (torch.int32, NAN),
        (torch.uint8, 300),
        (torch.uint8, -300),
        (torch.float16, 1e30),
    ],
    ids=str,
)
def test_a_fill_with_a_tensor_that_does_not_fit_is_refused(dtype, value):
    args = (torch.ones(3, dtype=dtype), torch.tensor([True, False, True]), torch.tensor(value))
    refused(lambda x, m, v: x.masked_fill(m, v), *args)
    refused(lambda x, m, v: x.masked_fill_(m, v), *args)
    if not isinstance(value, complex):
        refused(lambda x, i, v: x.index_fill(0, i, v), args[0], torch.tensor([1]), args[2])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(torch.int64, 1 + 0j), (torch.uint8, -200), (torch.float16, -INF), (torch.bool, 2.5)],
    ids=str,
)
def test_a_fill_with_a_tensor_that_fits(dtype, value):
    mask, number = torch.tensor([True, False, True]), torch.tensor(value)
    agree(lambda x, m, v: [x.masked_fill(m, v)], torch.ones(3, dtype=dtype), mask, number)


def test_zero_signs():
    x = torch.tensor([-0.5, -0.0, 0.0, 0.25])
    agree(lambda x: [torch.signbit(f(x)) for f in (torch.round, torch.trunc, torch.ceil)], x)
    agree(lambda x: torch.signbit(torch.div(x, 1.0, rounding_mode="floor")), x)


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.int16, torch.int64, torch.uint8, torch.float32], ids=str)
def test_division(mode, dtype):
    x = torch.tensor([-47, -7, 0, 7, 47]).to(dtype)
    y = torch.tensor([47, -2, 3, 2, 5]).to(dtype)
    agree(lambda x, y: torch.div(x, y, rounding_mode=mode), x, y)
    agree(lambda x, y: [x % y, torch.fmod(x, y)], x, y)


@pytest.mark.parametrize("op", [torch.floor_divide, torch.remainder, torch.fmod])
def test_integer_division_by_zero_is_refused(op):
    refused(op, torch.tensor([1, 2, 3]), torch.tensor([1, 0, 2]))
    refused(lambda x: x.floor_divide_(0), torch.tensor([1, 2]))


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8], ids=str)
def test_integer_division_of_nothing(shape, dtype):
    """XLA's simplifier divided by the first element of the divisor."""
    x, y = torch.ones(shape, dtype=dtype), torch.ones(shape, dtype=dtype)
    agree(lambda x, y: [x.fmod(y), x % y, x // y, torch.div(x, y, rounding_mode="trunc")], x, y)


def test_integer_arithmetic_wraps_and_is_exact():
    agree(
        lambda x: [x + 1, x * 4, x**2, x << 3, x >> 1], torch.tensor([2**40 + 1, 2**31, -(2**62)])
    )
    agree(lambda x: [x + x, x * x, -x, ~x], torch.tensor([100, 200, 255], dtype=torch.uint8))
    agree(
        lambda x, y: x**y, torch.tensor([-1, -1, 1, 2, 3, 0]), torch.tensor([-3, -2, -1, -1, 5, 0])
    )


def test_shifts_outside_the_width():
    x = torch.tensor([-5, 5, 1, -1], dtype=torch.int32)
    y = torch.tensor([-1, 32, 31, 40], dtype=torch.int32)
    agree(lambda x, y: [x << y, x >> y], x, y)


def test_casts_between_all_dtypes():
    x = torch.tensor([-300.7, -1.5, -0.0, 0.4, 1.0, 200.9])
    kinds = [*DTYPES, torch.int8, torch.int16, torch.int32, torch.float16, torch.float64]
    agree(lambda x: [x.to(kind) for kind in kinds], x)
    agree(lambda x: [x.to(kind) for kind in kinds], torch.tensor([-129, -1, 0, 1, 2**35 + 3]))


def test_clamp():
    x = torch.tensor([NAN, -INF, INF, 0.0])
    agree(lambda x: [x.clamp(-1, 1), x.clamp(min=0.5), x.clamp(max=NAN), x.clamp(2, 1)], x)
    agree(lambda x, y: [x.clamp(y), x.clamp(max=y)], x, torch.tensor(0.25))


def test_choices_promote():
    mask = torch.tensor([True, False])
    agree(lambda m, x, y: [torch.where(m, x, y), torch.where(m, 1, x)], mask,
          torch.tensor([1, 2]), torch.tensor([0.5, NAN]))  # fmt: skip
    agree(lambda x, m: [x.masked_fill(m, 3.5), x.masked_fill_(m, -1)], torch.ones(2, 2), mask)


def test_complex_parts():
    z = torch.tensor([1 + 2j, -3j, 0j, -1 + 0j])
    agree(
        lambda z: [z.abs(), z.angle(), z.sgn(), z.conj_physical(), z.conj() * z, z.real + z.imag], z
    )
    agree(lambda r, a: [torch.polar(r, a), torch.complex(r, a)], torch.rand(3), torch.rand(3))


def test_rounding_to_decimals():
    x = torch.tensor([1.2345, -1.2355, 1250.0, 0.5])
    agree(lambda x: [torch.round(x, decimals=d) for d in (0, 2, -2)], x)
    # Each is the decimal that is written so: a quotient, not a product with the inverse of 100.
    x = torch.arange(2000) / 7
    agree(lambda x: [torch.round(x, decimals=d) for d in (1, 2, 3)], x, rtol=0, atol=0)


def test_a_quotient_is_rounded_once_whatever_divides():
    """A product with an inverse, which is what XLA makes of a divisor that it sees spread, is not:
    49 / 49 would be 0.99999994 and 0.3 / 0.1 another integer."""
    x = torch.arange(1, 2000) / 10
    programs = {
        "number": lambda x: x / 49,
        "full_like": lambda x: x / torch.full_like(x, 49.0),
        "expanded": lambda x: x / x[:1].expand_as(x),
        "addcdiv": lambda x: torch.addcdiv(torch.zeros_like(x), x, torch.full_like(x, 49.0)),
        "foreach": lambda x: torch._foreach_div([x], 49.0)[0],
        "floor": lambda x: torch.floor(x / 0.1),
        "hardswish": torch.nn.functional.hardswish,
        "hardsigmoid": torch.nn.functional.hardsigmoid,
    }
    for name, program in programs.items():
        want = program(x)
        assert torch.equal(program(x.to("neuron")).cpu(), want), name
        compiled = torch.compile(program, backend="neuron")
        assert torch.equal(compiled(x.to("neuron")).cpu(), want), name


def test_lerp_ends_exactly():
    x, y = torch.randn(7), torch.randn(7) * 1e6
    agree(lambda x, y: [torch.lerp(x, y, w) for w in (0.0, 0.3, 0.8, 1.0)], x, y)


def test_scaled_sums_and_quotients():
    x, y, z = torch.randn(3, 4), torch.randn(4), torch.rand(3, 1) + 1
    agree(lambda *t: [torch.addcmul(*t, value=-2), torch.addcdiv(*t, value=0.5)], x, y, z)
    agree(
        lambda x, y: [torch.add(x, y, alpha=3), torch.sub(x, y, alpha=0.1), torch.rsub(x, y)], x, y
    )


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, v: torch.add(x, x, alpha=v),
        lambda x, v: x.mul_(v),
        lambda x, v: x.clamp(min=v),
        lambda x, v: torch.nn.functional.leaky_relu(x, v),
        lambda x, v: torch.lerp(x, x, v),
        lambda x, v: torch.addcmul(x, x, x, value=v),
        lambda x, v: x.fill_(v),
        lambda x, v: x == v,
    ],
)
def test_numbers_are_run_time_inputs(fn):
    import torch_neuronx

    x = torch.ones(3, 5, device="neuron")
    fn(x, 0.125)
    before = len(torch_neuronx.explain().rows)
    for value in (0.25, 0.5, 0.75):
        fn(x, value)
    assert len(torch_neuronx.explain().rows) == before


@pytest.mark.parametrize("span", [1.0, 8000.0, 1e30])
@pytest.mark.parametrize("op", [torch.sin, torch.cos])
def test_large_tensors_of_angles(op, span):
    """Beyond 4096 elements the rule reduces arguments itself, unless one of them is huge."""
    x = torch.cat([torch.linspace(-span, span, 20_000), torch.tensor([0.0, -0.0])])
    result = op(x.to("neuron")).cpu()
    torch.testing.assert_close(result.double(), op(x.double()), rtol=0, atol=2e-7)
    assert torch.equal(result[-2:].signbit(), op(x[-2:]).signbit())


def test_allclose_is_asked_of_the_device():
    x = torch.tensor([1.0, 2.0, float("nan")])
    torch_neuronx.clear_op_tracking()
    agree(lambda x: [torch.allclose(x, x), torch.allclose(x, x, equal_nan=True)], x)
    agree(lambda x: [torch.allclose(x[:2], x[:2] + d) for d in (0.0, 1e-6, 0.1)], x)
    assert not torch_neuronx.get_fallback_ops()
