"""Of two operations in one graph each rounds, overflows and is NaN by itself, as in eager mode.

XLA's simplifier would take them for one operation on real numbers: x / (y * z), x + (c - c), x.
"""

import pytest
import torch
from graphs import compiled

INF, NAN = float("inf"), float("nan")
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.1, 100.0, -80.0, 1e8, 1e30, -1e30, 1e-30, INF, -INF]
X, Y, Z = (t.flatten() for t in torch.meshgrid([torch.tensor([*NUMBERS, NAN])] * 3, indexing="ij"))

OPERATIONS = {
    "x / y": torch.div,
    "x * y": torch.mul,
    "x ** y": torch.pow,
    "x / 1e8": lambda x: x / 1e8,
    "1e8 / x": lambda x: 1e8 / x,
    "x * 1e-30": lambda x: x * 1e-30,
    "x * 1e30": lambda x: 1e30 * x,
    "x + 1e8": lambda x: x + 1e8,
    "x - 1e8": lambda x: x - 1e8,
    "1e8 - x": lambda x: 1e8 - x,
    "2 ** x": lambda x: 2**x,
    "1 / x": torch.reciprocal,
    "exp(x)": torch.exp,
    "exp2(x)": torch.exp2,
    "log(x)": torch.log,
    "sqrt(x)": torch.sqrt,
    "rsqrt(x)": torch.rsqrt,
}
SUMS = {"x + 1e8", "x - 1e8", "1e8 - x"}
PRODUCTS = {"x * y", "x * 1e-30", "x * 1e30"}
# Of each operation a few units in the last place, which the outer one may multiply by 100 (exp).
CLOSE = 100 * 8 * torch.finfo(torch.float32).eps


@pytest.fixture(autouse=True)
def without_denormals():
    """As the device's programs."""
    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


def arity(name):
    return 2 if "y" in name else 1


def compositions(outer):
    """Of `outer` with every operation, as each of its arguments and as both."""
    f = OPERATIONS[outer]
    for inner, g in OPERATIONS.items():
        if outer in SUMS and inner in PRODUCTS:
            continue  # rounded once, by the instruction that does both

        def inside(x, y, g=g, inner=inner):
            return g(x, y) if arity(inner) == 2 else g(x)

        if arity(outer) == 1:
            yield inner, lambda x, y, z, i=inside: f(i(x, y))
        else:
            yield f"{inner}, z", lambda x, y, z, i=inside: f(i(x, y), z)
            yield f"z, {inner}", lambda x, y, z, i=inside: f(z, i(x, y))
            yield f"{inner}, both", lambda x, y, z, i=inside: f(i(x, y), i(z, y))


@pytest.mark.parametrize("outer", OPERATIONS)
def test_each_operation_is_by_itself(outer):
    names, functions = zip(*compositions(outer), strict=True)

    def every(x, y, z):
        return [function(x, y, z) for function in functions]

    given = [t.to("neuron") for t in (X, Y, Z)]
    for name, got, want in zip(names, compiled(every)(*given), every(X, Y, Z), strict=True):
        torch.testing.assert_close(
            got.cpu(),
            want,
            rtol=CLOSE,
            atol=0.0,
            equal_nan=True,
            msg=lambda text, name=name: f"{outer} of {name}: {text}",
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_what_is_never_negative_may_be_nan(dtype):
    def every(x):
        largest = torch.maximum(x, torch.ones_like(x))
        return [x.abs() >= 0, x * x >= 0, torch.relu(x) >= 0, x.exp() >= 0, largest >= 1, x >= -INF]

    x = torch.tensor([*NUMBERS, NAN], dtype=dtype)
    for got, want in zip(compiled(every)(x.to("neuron")), every(x), strict=True):
        assert torch.equal(got.cpu(), want)
