"""More than 2**31 elements: positions, offsets, sizes and sums that 32 bits do not hold.

One-byte elements, so that a tensor takes 2 GiB; a test holds three at the most.
"""

import gc

import pytest
import torch

PAST = 2**31  # the first position past 32 bits
COUNT = PAST + 64

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _enough_memory():
    gc.collect()
    free, _ = torch.neuron.mem_get_info()
    if free < 4 * COUNT:
        pytest.skip("the device has too little memory")


def large():
    return torch.zeros(COUNT, dtype=torch.int8, device="neuron")


def test_reading_and_writing_near_the_end():
    zeros = large()
    zeros[PAST] = 1
    zeros[-1] = 2
    zeros[PAST + 10 : PAST + 14] = 3
    assert zeros[PAST].item() == 1
    assert zeros[COUNT - 1].item() == 2
    assert zeros[PAST + 8 :].tolist()[:8] == [0, 0, 3, 3, 3, 3, 0, 0]
    assert zeros[:: PAST - 1].tolist() == [0, 0]
    assert zeros[::PAST].tolist() == [0, 1]
    with pytest.raises(IndexError, match=f"index {COUNT} is out of bounds"):
        zeros[COUNT]


def test_index_tensors():
    zeros = large()
    index = torch.tensor([0, PAST, COUNT - 1], device="neuron")
    zeros[index] = torch.tensor([4, 5, 6], dtype=torch.int8, device="neuron")
    assert zeros[index.flip(0)].tolist() == [6, 5, 4]
    assert zeros[-index].tolist() == [4, zeros[COUNT - PAST].item(), zeros[1].item()]
    assert zeros.index_select(0, index).tolist() == [4, 5, 6]
    assert zeros.gather(0, index).tolist() == [4, 5, 6]
    assert zeros.take(index).tolist() == [4, 5, 6]
    zeros.index_add_(0, index, torch.ones(3, dtype=torch.int8, device="neuron"))
    zeros.scatter_(0, index[1:2], 9)
    assert zeros.take(index).tolist() == [5, 9, 7]
    for bad in (COUNT, 2**32):
        with pytest.raises(IndexError):
            zeros[torch.tensor([bad], device="neuron")]
        with pytest.raises(IndexError):
            zeros[torch.tensor([bad], device="neuron")] = 1


def test_sums_and_arithmetic_in_place():
    zeros = large()
    zeros.add_(1)
    assert zeros.sum().item() == COUNT
    zeros[PAST + 3] = 100
    assert zeros.max().item() == 100
    assert zeros.argmax().item() == PAST + 3
    assert zeros.view(2, -1).sum(1).tolist() == [COUNT // 2, COUNT // 2 + 99]
    assert (zeros == 100).sum().item() == 1


def test_copies():
    zeros = large()
    zeros[PAST + 5] = 8
    host = zeros.cpu()
    assert host[PAST + 5].item() == 8 and host.count_nonzero().item() == 1
    host[PAST + 6] = 9
    zeros.copy_(host)
    del host
    assert zeros[PAST + 4 : PAST + 8].tolist() == [0, 8, 9, 0]
    shifted = torch.cat([zeros[PAST:], zeros[:PAST]])
    assert shifted[4:8].tolist() == [0, 8, 9, 0]
    assert zeros[PAST:].clone().sum().item() == 17


def test_a_tensor_of_many_rows():
    zeros = large()
    rows = zeros.view(-1, 64)
    rows[-1] = torch.arange(64, dtype=torch.int8, device="neuron")
    assert rows[-1, -2:].tolist() == [62, 63]
    assert rows[:, 3].sum().item() == 3
    assert rows.t()[5, -1].item() == 5
