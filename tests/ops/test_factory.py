"""Tensors made from sizes and numbers agree with the CPU in value, dtype and strides."""

import pytest
import torch
from agreement import agree

import torch_neuronx

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]


def made(fn):
    """`fn(device)` agrees; the argument only says which device."""
    agree(lambda x: fn(x.device), torch.zeros(1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fills(dtype):
    made(lambda d: [torch.zeros(2, 3, dtype=dtype, device=d), torch.ones(3, dtype=dtype, device=d),
                    torch.full((2, 2), 1, dtype=dtype, device=d),
                    torch.eye(3, 4, dtype=dtype, device=d)])  # fmt: skip
    agree(lambda x: [torch.zeros_like(x), torch.full_like(x, 1), x.new_ones(2), x.new_full([2], 1)],
          torch.zeros(2, 3, dtype=dtype).t())  # fmt: skip


def test_defaults_follow_the_number():
    made(lambda d: [torch.full((2,), v, device=d) for v in (1, 2.5, True, 1j)])
    made(lambda d: [torch.tensor(v, device=d) for v in (1, 2.5, True, 1j)])


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int32, torch.float64], ids=str
)
def test_ranges(dtype):
    spans = [(0, 7, 1), (3, -4, -2), (-5, 5, 3)]
    made(lambda d: [torch.arange(*s, dtype=dtype, device=d) for s in spans])
    made(lambda d: [torch.linspace(-3, 9, n, dtype=dtype, device=d) for n in (0, 1, 2, 7, 50)])
    made(lambda d: torch.logspace(0, 3, 6, 2.0, dtype=dtype, device=d))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8], ids=str)
def test_integers_are_evenly_spaced(dtype):
    """Each is cut off, so that one rounding more would make it another integer."""
    ends = [(50, 1), (1, 50), (0, 49), (7, 100), (99, 3)]
    made(
        lambda d: [
            torch.linspace(*span, n, dtype=dtype, device=d) for span in ends for n in (10, 49, 50)
        ]
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, None], ids=str)
def test_ranges_of_each_length(dtype):
    """None is taken for another, though a dtype stands where other overloads have a step."""
    made(lambda d: [torch.arange(0, n, dtype=dtype, device=d) for n in range(9)])


def test_fractional_and_large_ranges():
    made(
        lambda d: [torch.arange(0.5, 3.0, 0.25, device=d), torch.arange(2**40, 2**40 + 5, device=d)]
    )
    agree(lambda a, b: [torch.linspace(x, b, 5, device=a.device) for x in (a, 0.5)],
          torch.tensor(1.5), torch.tensor(4.0))  # fmt: skip


@pytest.mark.parametrize("offset", [-2, 0, 3])
def test_triangle_indices(offset):
    made(
        lambda d: [
            torch.tril_indices(4, 5, offset, device=d),
            torch.triu_indices(5, 3, offset, device=d),
        ]
    )


def test_windows():
    made(lambda d: [torch.hann_window(8, device=d), torch.kaiser_window(8, device=d)])


def test_position_ids_share_a_program():
    torch.arange(0, 6, device="neuron")
    before = len(torch_neuronx.explain().rows)
    for start in range(1, 5):
        assert torch.arange(start, start + 6, device="neuron").tolist() == list(
            range(start, start + 6)
        )
    assert len(torch_neuronx.explain().rows) == before
