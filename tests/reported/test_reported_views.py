"""Reported failures of views, strides, in-place writes and copies (rows 20 to 36)."""

import pickle

import pytest
import torch
from agreement import agree_by_device as agree
from agreement import fastest_seconds, on, random

DEVICE = "neuron"


def test_20_stride_zero_anywhere():
    def program(device):
        x = on(device, random(1, 1, 3))
        views = [x.expand(1, 4, 3), x.expand(2, 1, 3), x[..., :1].expand(1, 1, 5)]
        target = torch.zeros(1, 4, 3, device=device)
        target.copy_(views[0])
        return [v.cpu().contiguous() for v in views], views[0].cpu().numpy().tolist(), target

    agree(program)


def test_20_pickle_of_an_expanded_tensor():
    x = on(DEVICE, random(1, 3)).expand(4, 3)
    again = pickle.loads(pickle.dumps(x))
    assert again.device.type == "neuron"
    assert torch.equal(again.cpu(), x.cpu())


def test_21_copy_into_views():
    def program(device):
        x = torch.zeros(3, 4, 5, device=device)
        x.select(0, 2).copy_(torch.ones(4, 5, device=device))
        x.narrow(1, 1, 2).copy_(torch.full((3, 2, 5), 2.0, device=device))
        x[:, ::2].copy_(torch.full((3, 2, 5), 3.0, device=device))
        x.transpose(0, 2)[0].copy_(on(device, random(4, 3)))
        y = torch.tensor([1, 2, 3, 4], device=device)
        y[2] = 1
        return x, y

    assert agree(program)[1].tolist() == [1, 2, 1, 4]


@pytest.mark.parametrize("shape", [(0,), (0, 64), (3, 0, 2), (2, 0, 3, 4)])
def test_22_empty_tensors(shape):
    def program(device):
        x = torch.empty(shape).to(device)
        return x.cpu(), x + 1, torch.cat([x, x]), x.sum()

    agree(program)


def test_23_storage_bytes():
    ids = torch.randint(0, 1000, (1, 855))
    assert on(DEVICE, ids).untyped_storage().nbytes() == 6840
    agree(lambda device: on(device, ids)[:, None])


def test_24_full_plus_arange():
    agree(
        lambda device: (
            torch.full((1, 3, 128), 2.0, device=device) + torch.arange(128, device=device)
        )
    )


def test_25_index_copy_does_not_depend_on_the_destination():
    rows, index = on(DEVICE, random(8, 1024)), torch.arange(8, device=DEVICE)
    times = []
    for size in (1024, 16 * 1024):
        target = torch.zeros(size, 1024, device=DEVICE)
        times.append(fastest_seconds(lambda target=target: target.index_copy_(0, index, rows)))
    assert times[1] < 2 * times[0] + 100e-6


def test_27_cache_write_does_not_depend_on_length():
    new = on(DEVICE, random(1, 8, 2, 64))

    def program(device):
        cache = torch.zeros(1, 8, 64, 64, device=device)
        for p in (0, 5, 62):
            cache[:, :, p : p + 2] = on(device, random(1, 8, 2, 64, seed=p))
        return cache

    agree(program)
    times = []
    for length in (512, 16 * 512):
        cache = torch.zeros(1, 8, length, 64, device=DEVICE)

        def write(cache=cache):
            cache[:, :, 7:9] = new

        times.append(fastest_seconds(write))
    assert times[1] < 2 * times[0] + 100e-6


def test_28_add_to_a_column():
    agree(lambda device: on(device, random(4, 5))[:, 3].add_(2))


def test_28_gradcheck_of_a_transpose():
    x = on(DEVICE, random(3, 4, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: t.t().contiguous().sum(), (x,))


def test_29_data_may_be_replaced():
    x = torch.ones(4, 4, device=DEVICE)
    old = x.view(-1)
    x.data = torch.zeros(2, device=DEVICE)
    assert x.tolist() == [0, 0]
    assert old.tolist() == [1] * 16


def test_30_as_strided_write():
    t = torch.ones(4, device=DEVICE)
    t.as_strided((2,), (2,))[0] = -1
    assert t.tolist() == [-1, 1, 1, 1]


def test_31_views_of_the_second_element():
    x = on(DEVICE, random(2))
    for view in (x.chunk(2)[1].squeeze(), x[1:2][0], x[1].unsqueeze(0)[0], x[1, None][0]):
        assert view.item() == x[1].item() == random(2)[1].item()


def test_32_splits():
    def program(device):
        x = torch.arange(6, device=device).view(2, 3)
        return x.split(1, 1), x.chunk(3, 1), x.tensor_split(3, 1), x.unbind(1)

    assert [p.tolist() for p in agree(program)[0]] == [[[0], [3]], [[1], [4]], [[2], [5]]]


def test_33_expand_with_minus_one():
    agree(lambda device: on(device, random(30, 30)).expand((1, 1, -1, -1)))


VIEWS = {
    "alias": lambda x: torch.ops.aten.alias(x),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 4), 1),
    "chunk": lambda x: x.chunk(2)[1],
    "detach": lambda x: x.detach(),
    "diagonal": lambda x: x.diagonal(),
    "expand_as": lambda x: x.expand_as(x),
    "movedim": lambda x: x.movedim(0, 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "permute": lambda x: x.permute(1, 0),
    "real": lambda x: torch.view_as_complex(x.view(4, 2, 2)).real,
    "reshape": lambda x: x.reshape(2, 8),
    "select": lambda x: x.select(1, 2),
    "slice": lambda x: x[1:, ::2],
    "split": lambda x: x.split([1, 3])[1],
    "squeeze": lambda x: x.view(1, 16).squeeze(0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "t": lambda x: x.t(),
    "tensor_split": lambda x: x.tensor_split(2)[0],
    "transpose": lambda x: x.transpose(0, 1),
    "unbind": lambda x: x.unbind(0)[1],
    "unflatten": lambda x: x.unflatten(0, (2, 2)),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "view": lambda x: x.view(16),
    "view_as_complex": lambda x: torch.view_as_real(torch.view_as_complex(x.view(4, 2, 2))),
    "view_dtype": lambda x: x.view(torch.float32),
    "vsplit": lambda x: x.vsplit(2)[1],
}


@pytest.mark.parametrize("name", VIEWS)
def test_34_writes_through_a_view_reach_its_base(name):
    def program(device):
        x = on(device, random(4, 4))
        y = VIEWS[name](x)
        y.add_(1)
        return x, y

    changed, _ = agree(program)
    assert not torch.equal(changed.cpu(), random(4, 4))


def test_35_buffers_follow_the_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.register_buffer("b", torch.arange(3.0), persistent=False)

    with torch.device("meta"):
        model = Model()
    model.to_empty(device="cpu")
    model.load_state_dict(torch.nn.Module.state_dict(Model()))
    model.to(DEVICE)
    assert {t.device.type for t in [*model.parameters(), *model.buffers()]} == {DEVICE}


def test_36_large_embedding_round_trip():
    weight = torch.arange(50_000 * 4096, dtype=torch.int32).view(50_000, 4096).view(torch.float32)
    assert torch.equal(weight.to(DEVICE).cpu().view(torch.int32), weight.view(torch.int32))
