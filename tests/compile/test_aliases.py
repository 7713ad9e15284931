"""Inputs that share a storage, updated and returned, as in eager."""

import pytest
import torch
from agreement import random, same
from graphs import compiled


def overlapping(device):
    x = torch.arange(12.0).view(3, 4).to(device)
    return x, x[1:]


def rows(device):
    x = torch.arange(12.0).view(3, 4).to(device)
    return x[0], x[1], x[2]


def twice(device):
    x = torch.arange(12.0).view(3, 4).to(device).t()
    return x, x


def one_is_updated(x, y):
    x.add_(1)
    return y * 2


def both_are_updated(x, y):
    y.mul_(3)
    x[0].add_(5)
    return x + 1


def two_of_three(a, b, c):
    a.add_(1)
    b.mul_(2)
    return a + b + c


def one_after_the_other(x, y):
    x.add_(1)
    y.add_(2)
    return x * y


def a_view_is_written(x, y):
    x[:, 1:3].t().zero_()
    return y.sum()


def outputs_share(x, y):
    z = x * 2
    return z, z[1:], x[0], y


CASES = [
    (one_is_updated, overlapping),
    (both_are_updated, overlapping),
    (two_of_three, rows),
    (one_after_the_other, twice),
    (a_view_is_written, overlapping),
    (outputs_share, overlapping),
]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(("program", "inputs"), CASES)
def test_shared_storages(program, inputs, grad):
    theirs, ours = inputs("cpu"), inputs("neuron")
    with torch.set_grad_enabled(grad):
        want, got = program(*theirs), compiled(program, fullgraph=True)(*ours)
    same(got, want)
    same(ours, theirs)
    assert [t.untyped_storage().data_ptr() for t in ours].count(
        ours[0].untyped_storage().data_ptr()
    ) == len(ours)


def test_views_made_in_inference_mode():
    function = compiled(outputs_share, fullgraph=True)
    theirs, ours = overlapping("cpu"), overlapping("neuron")
    with torch.inference_mode():
        same(function(*ours), outputs_share(*theirs))
        same(function(*overlapping("neuron")), outputs_share(*theirs))


def test_an_output_and_its_view_have_one_version():
    def activations(x):
        y = x.exp()
        return y, y.view(-1)

    x = torch.ones(2, 2, device="neuron", requires_grad=True)
    y, flat = compiled(activations)(x)
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        flat.sum().backward()


def test_offsets_that_differ_share_a_program():
    function = compiled(lambda row: row * 2 + 1, fullgraph=True, dynamic=False)
    table = torch.arange(12.0).view(3, 4).to("neuron")
    for row in table:
        same(function(row), row.cpu() * 2 + 1)


def test_lazy_conjugates_and_negatives_of_what_is_returned_too():
    def program(x):
        y = x * 2
        return y, y.conj(), y.conj().imag, x.conj()

    x = torch.complex(random(3), random(3, seed=1))
    same(torch.compile(program, backend="neuron")(x.to("neuron")), program(x))
