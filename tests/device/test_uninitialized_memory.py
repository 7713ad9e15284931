"""What torch.empty and resize_ give: zeros, or what PyTorch fills in when it is asked to."""

import pytest
import torch
from subprocesses import run

DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.complex64,
    torch.int8,
    torch.int64,
    torch.uint8,
    torch.uint64,
    torch.bool,
)

# Each makes on a device what is not, or not wholly, written.
MADE = {
    "empty": lambda d: torch.empty(3, 4, device=d),
    "0-d": lambda d: torch.empty((), device=d),
    "no elements": lambda d: torch.empty(0, 3, device=d),
    "empty_like": lambda d: torch.empty_like(torch.zeros(2, 3, device=d).t()),
    "new_empty": lambda d: torch.zeros(2, device=d).new_empty(3, dtype=torch.int16),
    "channels_last": lambda d: torch.empty(2, 3, 4, 5, device=d, memory_format=torch.channels_last),
    "strided": lambda d: torch.empty_strided((2, 3), (1, 4), device=d).contiguous(),
    "a view": lambda d: torch.empty(4, device=d)[1:3],
    "its bits": lambda d: torch.empty(4, device=d).view(torch.int32),
    "a copy": lambda d: torch.zeros(3, device=d).copy_(torch.empty(3, device=d)),
    "a sum": lambda d: torch.empty(3, device=d) + 1,
    "written in part": lambda d: torch.empty(4, device=d).index_fill_(
        0, torch.tensor([1], device=d), 7
    ),
    "grown": lambda d: torch.ones(2, device=d).resize_(5),
    "grown from nothing": lambda d: torch.empty(0, dtype=torch.int32, device=d).resize_(5),
    "shrunk and grown": lambda d: torch.ones(5, device=d).resize_(2).resize_(4),
    "out=": lambda d: torch.add(torch.ones(3, device=d), 1, out=torch.empty(0, device=d)),
    "a parameter": lambda d: torch.nn.utils.skip_init(
        torch.nn.Linear, 2, 3, device=d
    ).weight.detach(),
}


@pytest.fixture
def filled():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def bits(tensor):
    return tensor.cpu().contiguous().reshape(-1).view(torch.uint8).tolist()


def test_it_reads_as_zeros():
    x = torch.empty(4, device="neuron")
    assert x.tolist() == (x + 0).tolist() == [0, 0, 0, 0]
    assert x[2].item() == 0
    x[0] = 1
    assert x.tolist() == [1, 0, 0, 0]
    assert torch.ones(2, device="neuron").resize_(3).tolist() == [1, 1, 0]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_deterministic_algorithms_fill_each_dtype_as_on_cpu(dtype):
    result, expected = (torch.empty(3, dtype=dtype, device=d) for d in ("neuron", "cpu"))
    if dtype.is_floating_point or dtype.is_complex:
        assert result.cpu().to(torch.complex128).isnan().all()
    else:
        assert bits(result) == bits(expected)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("name", MADE)
def test_deterministic_algorithms_fill_what_they_fill_on_cpu(name):
    result, expected = (MADE[name](d) for d in ("neuron", "cpu"))
    assert result.stride() == expected.stride()
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.usefixtures("filled")
def test_what_was_filled_stays_filled():
    before = torch.empty(2, device="neuron")
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        assert torch.empty(2, device="neuron").tolist() == [0, 0]
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(False)
    assert before.isnan().all().item()


def test_the_variable_asks_for_it_too():
    code = """
    import torch
    x = torch.empty(3, device="neuron")
    x[0] = 1
    print(x.tolist(), torch.empty(1, dtype=torch.int8, device="neuron").item(), torch.empty(1))
    """
    result = run(code, TORCH_NEURONX_FILL_UNINITIALIZED_MEMORY="1")
    assert result.stdout.startswith("[1.0, nan, nan] 127 tensor(")
    assert "nan" not in result.stdout.split(" 127 ")[1]
