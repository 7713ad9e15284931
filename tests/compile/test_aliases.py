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


def parts(x):
    y = torch.complex(x, x + 1)
    return y, torch.view_as_real(y), y.real, y.imag[1:]


def bytes_of(x):
    y = (x * 4).to(torch.int64)
    return y.view(torch.uint8), y[1:], y.view(torch.int32)[::2]


def halves(x):
    return (x + 1).chunk(2)


def an_input_as_integers(x):
    return x[1:].view(torch.int32), x * 2


def places(*tensors):
    """Which of them share a storage, and where each begins in it."""
    storages = [t.untyped_storage()._cdata for t in tensors]
    return [(storages.index(t.untyped_storage()._cdata), t.storage_offset()) for t in tensors]


@pytest.mark.parametrize("program", [parts, bytes_of, halves, an_input_as_integers])
def test_results_share_memory_as_in_eager(program):
    theirs, ours = random(6), random(6).to("neuron")
    want, got = program(theirs), compiled(program, fullgraph=True)(ours)
    same(got, want)
    assert places(ours, *got) == places(theirs, *want)
    for results in (want, got):
        results[0].fill_(3)
    same((ours, *got), (theirs, *want))


def test_gradients_of_real_and_imaginary_part_share_memory():
    def gradients(device, function):
        x, y = (random(1).to(device).requires_grad_() for _ in range(2))
        z = function(x, y)
        z.backward(torch.full_like(z, 2 + 1j))
        return x.grad, y.grad

    def program(x, y):
        return torch.complex(x, y) - 3

    want, got = gradients("cpu", program), gradients("neuron", compiled(program))
    same(got, want)
    assert places(*got) == places(*want)


def test_offsets_that_differ_share_a_program():
    function = compiled(lambda row: row * 2 + 1, fullgraph=True, dynamic=False)
    table = torch.arange(12.0).view(3, 4).to("neuron")
    for row in table:
        same(function(row), row.cpu() * 2 + 1)


def test_lazy_conjugates_and_negatives_of_what_is_returned_too():
    def program(x):
        y = x * 2
        return y, y.conj(), y.conj().imag, x.conj()

    theirs = torch.complex(random(3), random(3, seed=1))
    ours = theirs.to("neuron")
    want, got = program(theirs), compiled(program)(ours)
    same(got, want)
    assert places(ours, *got) == places(theirs, *want)
    assert [(t.is_conj(), t.is_neg()) for t in got] == [(t.is_conj(), t.is_neg()) for t in want]
    for results in (want, got):
        results[0].mul_(2j)
    same(got, want)


def test_a_lazy_conjugate_of_a_value_that_is_not_returned():
    def program(x):
        return (x * 2j).conj(), x.conj().imag

    x = torch.complex(random(3), random(3, seed=1))
    want, got = program(x), compiled(program)(x.to("neuron"))
    same(got, want)
    assert [(t.is_conj(), t.is_neg()) for t in got] == [(True, False), (False, True)]
