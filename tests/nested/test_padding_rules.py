"""The rules between jagged values and padded batches agree with the CPU."""

import pytest
import torch
from agreement import agree, refused

import torch_neuronx

aten = torch.ops.aten
OFFSETS = torch.tensor([0, 2, 2, 6])
VALUES = torch.arange(12.0).view(6, 2)
PADDED = torch.arange(24.0).view(3, 4, 2)


def padded(values, offsets, longest=4, padding=-1.0):
    return aten._jagged_to_padded_dense_forward(values, [offsets], [longest], padding)


def jagged(dense, offsets, total=6):
    return aten._padded_dense_to_jagged_forward(dense, [offsets], total)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("index", [torch.int64, torch.int32])
def test_by_dtype(dtype, index):
    with torch_neuronx.no_fallback():
        agree(padded, VALUES.to(dtype), OFFSETS.to(index))
        agree(jagged, PADDED.to(dtype), OFFSETS.to(index))


def test_rows_past_the_longest_are_left_out():
    agree(lambda v, o: padded(v, o, longest=3), VALUES, OFFSETS)


def test_no_rows():
    agree(padded, VALUES[:0], torch.zeros(3, dtype=torch.int64))
    agree(lambda d, o: jagged(d, o, 0), PADDED, torch.zeros(4, dtype=torch.int64))


def test_one_program_for_every_padding():
    values, offsets = VALUES.to("neuron"), OFFSETS.to("neuron")
    padded(values, offsets)
    before = torch_neuronx.cache_info().requests
    for padding in (2.0, 3.0):
        padded(values, offsets, padding=padding)
    assert torch_neuronx.cache_info().requests == before


def test_how_many_rows_can_be_left_to_the_offsets():
    agree(lambda d, o: jagged(d, o, None), PADDED, OFFSETS)


def test_lengths_that_do_not_fit_are_refused():
    refused(jagged, PADDED[:, :3], OFFSETS)
    refused(lambda d, o: jagged(d, o, 5), PADDED, OFFSETS)
