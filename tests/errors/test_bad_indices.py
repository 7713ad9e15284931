"""Indices out of range: every operator that takes some, forwards, backwards and in place."""

import pytest
import torch
import torch.nn.functional as F
from refusal import integers, readable, refused, refused_in_other_words, values

aten = torch.ops.aten
HUGE = 2**40  # also past 32 bits
BAD = [7, -9, HUGE]


def x(device):
    return values(device, 3, 4)


def row(device, i):
    return integers(device, i)


def cell(device, i):
    return integers(device, i).reshape(1, 1)


def one(device):
    return values(device, 1, 1) + 1


READS = {
    "index": lambda d, i: x(d)[row(d, i)],
    "index_second": lambda d, i: x(d)[:, integers(d, 0, i)],
    "index_python": lambda d, i: x(d)[i],
    "select": lambda d, i: x(d).select(0, i),
    "narrow": lambda d, i: x(d).narrow(0, i, 1),
    "index_select": lambda d, i: x(d).index_select(0, row(d, i)),
    "index_select_last": lambda d, i: x(d).index_select(1, row(d, i)),
    "gather": lambda d, i: x(d).gather(0, cell(d, i)),
    "gather_last": lambda d, i: x(d).gather(1, integers(d, [0, 1], [i, 0])),
    "take": lambda d, i: values(d, 3).take(row(d, i)),
    "embedding": lambda d, i: F.embedding(row(d, i), x(d)),
    "embedding_bag": lambda d, i: F.embedding_bag(cell(d, i), x(d), mode="max"),
    "embedding_renorm": lambda d, i: F.embedding(row(d, i), x(d), max_norm=1.0),
    "topk": lambda d, i: values(d, 3).topk(i),
    "kthvalue": lambda d, i: values(d, 3).kthvalue(i),
    "multinomial": lambda d, i: torch.multinomial(values(d, 3), i),
    "max_unpool": lambda d, i: F.max_unpool2d(
        values(d, 1, 1, 1, 1), integers(d, i).reshape(1, 1, 1, 1), 2
    ),
}
WRITES = {
    "index_put": lambda d, i: x(d).index_put_((row(d, i),), values(d, 1)),
    "index_put_accumulate": lambda d, i: x(d).index_put_(
        (row(d, i),), values(d, 1), accumulate=True
    ),
    "setitem": lambda d, i: x(d).__setitem__(row(d, i), 1.0),
    "setitem_python": lambda d, i: x(d).__setitem__(i, 1.0),
    "index_add": lambda d, i: x(d).index_add(0, row(d, i), values(d, 1, 4)),
    "index_add_1d": lambda d, i: values(d, 3).index_add(0, row(d, i), values(d, 1)),
    "index_copy": lambda d, i: x(d).index_copy(0, row(d, i), values(d, 1, 4)),
    "index_fill": lambda d, i: x(d).index_fill(0, row(d, i), 2.0),
    "index_reduce": lambda d, i: x(d).index_reduce(0, row(d, i), values(d, 1, 4), "prod"),
    "scatter": lambda d, i: x(d).scatter(0, cell(d, i), one(d)),
    "scatter_value": lambda d, i: x(d).scatter(0, cell(d, i), 2.0),
    "scatter_add": lambda d, i: x(d).scatter_add(0, cell(d, i), one(d)),
    "scatter_reduce": lambda d, i: x(d).scatter_reduce(0, cell(d, i), one(d), "amax"),
    "scatter_multiply": lambda d, i: x(d).scatter(0, cell(d, i), one(d), reduce="multiply"),
    "put": lambda d, i: values(d, 3).put_(row(d, i), values(d, 1)),
    "put_accumulate": lambda d, i: values(d, 3).put_(row(d, i), values(d, 1), accumulate=True),
    "select_scatter": lambda d, i: torch.select_scatter(x(d), values(d, 4), 0, i),
    "embedding_renorm_": lambda d, i: aten.embedding_renorm_(x(d), row(d, i), 1.0, 2.0),
}
LOSSES = {
    "nll": lambda d, i: F.nll_loss(x(d), integers(d, 0, 0, i)),
    "nll_weight": lambda d, i: F.nll_loss(x(d), integers(d, 0, 0, i), values(d, 4)),
    "nll_row": lambda d, i: F.nll_loss(values(d, 4), row(d, i)[0]),
    "nll_2d": lambda d, i: F.nll_loss(values(d, 2, 4, 1, 1), integers(d, [[0]], [[i]])),
    "cross_entropy": lambda d, i: F.cross_entropy(x(d), integers(d, 0, 0, i)),
    "cross_entropy_smooth": lambda d, i: F.cross_entropy(
        x(d), integers(d, 0, 0, i), label_smoothing=0.1
    ),
    "multi_margin": lambda d, i: F.multi_margin_loss(x(d), integers(d, 0, 0, i)),
    "multilabel_margin": lambda d, i: F.multilabel_margin_loss(
        values(d, 1, 4), integers(d, [0, i, -1, 0])
    ),
}
DIMS = {
    "sum": lambda d, i: x(d).sum(i),
    "softmax": lambda d, i: x(d).softmax(i),
    "sort": lambda d, i: x(d).sort(i),
    "cumsum": lambda d, i: x(d).cumsum(i),
    "argmax": lambda d, i: x(d).argmax(i),
    "median": lambda d, i: x(d).median(i),
    "var": lambda d, i: x(d).var(i),
    "flip": lambda d, i: x(d).flip(i),
    "transpose": lambda d, i: x(d).transpose(0, i),
    "diagonal": lambda d, i: x(d).diagonal(0, 0, i),
    "cat": lambda d, i: torch.cat([x(d), x(d)], i),
    "fft": lambda d, i: torch.fft.fft(x(d), dim=i),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", READS)
def test_reading_out_of_range(name, bad):
    if name == "multinomial" and bad == HUGE:
        pytest.skip("PyTorch CPU takes it for a size")
    refused(lambda d: READS[name](d, bad))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", WRITES)
def test_writing_out_of_range(name, bad):
    refused(lambda d: WRITES[name](d, bad))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", LOSSES)
def test_classes_out_of_range(name, bad):
    refused(lambda d: LOSSES[name](d, bad))


@pytest.mark.parametrize("bad", [2, -3])
@pytest.mark.parametrize("name", DIMS)
def test_dimensions_out_of_range(name, bad):
    refused(lambda d: DIMS[name](d, bad))


@pytest.mark.parametrize("name", ["softmax", "sort", "cumsum", "median"])
def test_dimensions_out_of_range_of_what_is_too_large_to_try_on_the_cpu(name):
    big = {
        "softmax": lambda d: torch.zeros(100, 100, device=d).softmax(2),
        "sort": lambda d: torch.zeros(100, 100, device=d).sort(2),
        "cumsum": lambda d: torch.zeros(100, 100, device=d).cumsum(2),
        "median": lambda d: torch.zeros(100, 100, device=d).median(2),
    }
    refused(big[name])


def test_a_refused_write_leaves_its_target_alone():
    target = values("neuron", 3, 4)
    alias = target[1]
    for write in (
        lambda: target.index_add_(0, integers("neuron", 0, 7), values("neuron", 2, 4) + 1),
        lambda: target.scatter_(0, integers("neuron", [0], [7]), values("neuron", 2, 1) + 1),
        lambda: target.index_put_((integers("neuron", 0, 7),), values("neuron", 1) + 1),
        lambda: alias.index_fill_(0, integers("neuron", 0, 9), 5.0),
    ):
        with pytest.raises((IndexError, RuntimeError)) as caught:
            write()
        readable(caught.value)
        assert torch.equal(target.cpu(), values("cpu", 3, 4))


def test_backward_after_a_class_out_of_range():
    weight = values("neuron", 2, 4).requires_grad_()
    with pytest.raises(IndexError):
        F.cross_entropy(weight, integers("neuron", 0, 9)).backward()
    assert weight.grad is None
    F.cross_entropy(weight, integers("neuron", 0, 3)).backward()
    assert weight.grad.isfinite().all()


@pytest.mark.parametrize("bad", BAD)
def test_checks_that_pytorch_makes_on_the_cpu_only(bad):
    """Its messages show two numbers, or come from a check that it leaves out for devices."""
    refused_in_other_words(
        lambda d: F.embedding_bag(cell(d, bad), x(d)),
        f"Expected idx >= 0 && idx < num_embeddings but found idx to be {bad}",
    )
    refused_in_other_words(
        lambda d: F.one_hot(integers(d, 0, bad), 3),
        f"index {bad} is out of bounds for dimension 1 with size 3",
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_indices_must_be_integers(dtype):
    def bad(d):
        return values(d, 2, dtype=dtype)

    refused(lambda d: x(d)[bad(d)])
    refused(lambda d: x(d).index_select(0, bad(d)))
    refused(lambda d: x(d).index_put_((bad(d),), values(d, 1)))
    refused(lambda d: x(d).index_fill(0, bad(d), 1.0))
    refused(lambda d: x(d).gather(0, bad(d)[:, None]))
    refused(lambda d: x(d).scatter(0, bad(d)[:, None], 1.0))
    refused(lambda d: x(d).take(bad(d)))
    refused(lambda d: F.embedding(bad(d), x(d)))


def test_indices_of_a_narrow_dtype():
    refused(lambda d: x(d).gather(0, cell(d, 0).short()))
    refused(lambda d: x(d).scatter(0, cell(d, 0).short(), 1.0))
    refused(lambda d: F.embedding(row(d, 0).short(), x(d)))
    refused(lambda d: F.nll_loss(x(d), integers(d, 0, 1, 2).int()))


def test_embedding_bag_offsets():
    index = [0, 1]
    refused(lambda d: F.embedding_bag(integers(d, *index), x(d), integers(d, 1)))
    refused(lambda d: F.embedding_bag(integers(d, *index), x(d), integers(d, 0, 5)))
