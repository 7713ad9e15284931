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
    x = large()
    x[PAST] = 1
    x[-1] = 2
    x[PAST + 10 : PAST + 14] = 3
    assert x[PAST].item() == 1
    assert x[COUNT - 1].item() == 2
    assert x[PAST + 8 :].tolist()[:8] == [0, 0, 3, 3, 3, 3, 0, 0]
    assert x[:: PAST - 1].tolist() == [0, 0]
    assert x[::PAST].tolist() == [0, 1]
    with pytest.raises(IndexError, match=f"index {COUNT} is out of bounds"):
        x[COUNT]


def test_index_tensors():
    x = large()
    index = torch.tensor([0, PAST, COUNT - 1], device="neuron")
    x[index] = torch.tensor([4, 5, 6], dtype=torch.int8, device="neuron")
    assert x[index.flip(0)].tolist() == [6, 5, 4]
    assert x[-index].tolist() == [4, x[COUNT - PAST].item(), x[1].item()]
    assert x.index_select(0, index).tolist() == [4, 5, 6]
    assert x.gather(0, index).tolist() == [4, 5, 6]
    assert x.take(index).tolist() == [4, 5, 6]
    x.index_add_(0, index, torch.ones(3, dtype=torch.int8, device="neuron"))
    x.scatter_(0, index[1:2], 9)
    assert x.take(index).tolist() == [5, 9, 7]
    for bad in (COUNT, 2**32):
        with pytest.raises(IndexError):
            x[torch.tensor([bad], device="neuron")]
        with pytest.raises(IndexError):
            x[torch.tensor([bad], device="neuron")] = 1


def test_reductions_and_arithmetic_in_place():
    """An exact sum takes eight bytes for each element, so only a part is summed in integers."""
    x = large()
    x.add_(1)
    x[PAST + 3] = 100
    assert x.max().item() == 100
    assert x.min().item() == 1
    assert x.sum(dtype=torch.float32).item() == pytest.approx(COUNT + 99, rel=1e-6)
    assert x[PAST - 50 :].sum().item() == 114 + 99
    assert x[PAST - 50 :].argmax().item() == 53
    assert x.view(2, -1).amax(1).tolist() == [1, 100]


def test_copies():
    x = large()
    x[PAST + 5] = 8
    host = x.cpu()
    assert host[PAST + 5].item() == 8 and host.count_nonzero().item() == 1
    host[PAST + 6] = 9
    x.copy_(host)
    del host
    assert x[PAST + 4 : PAST + 8].tolist() == [0, 8, 9, 0]
    shifted = torch.cat([x[PAST:], x[:PAST]])
    assert shifted[4:8].tolist() == [0, 8, 9, 0]
    assert x[PAST:].clone().sum().item() == 17


def test_a_tensor_of_many_rows():
    x = large()
    rows = x.view(-1, 64)
    rows[-1] = torch.arange(64, dtype=torch.int8, device="neuron")
    assert rows[-1, -2:].tolist() == [62, 63]
    assert rows[:, 3].sum().item() == 3
    assert rows.t()[5, -1].item() == 5
