"""Ops whose result's shape depends on the data: equal to the CPU, and only the sizes are read."""

import pytest
import torch
from agreement import agree, on_device, random, refused

import torch_neuronx
from torch_neuronx import _C

NAN = float("nan")
COUNT = 8  # bytes of the one number that the host learns of a result


@pytest.fixture(autouse=True)
def _stays_on_the_device():
    with torch_neuronx.no_fallback():
        yield


def mask(*shape, seed=0):
    return random(*shape, seed=seed) > 0.2


MASKS = (mask(5), mask(3, 4), mask(2, 3, 4), mask(40, 70), torch.zeros(3, 2, dtype=torch.bool),
         torch.ones(3, 2, dtype=torch.bool), torch.tensor(True), torch.tensor(False),
         torch.zeros(0, 3, dtype=torch.bool), mask(4, 3).t(), mask(6, 3)[::2, 1:])  # fmt: skip


@pytest.mark.parametrize("x", MASKS, ids=lambda x: str(list(x.shape)))
def test_nonzero(x):
    agree(lambda x: (x.nonzero(), x.argwhere(), *x.nonzero(as_tuple=True)), x)
    if x.ndim:
        agree(lambda x: torch.where(x), x)


def test_the_column_of_nonzero_is_contiguous():
    for x in filter(torch.any, MASKS):
        assert x.to("neuron").nonzero().stride() == x.nonzero().stride()


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([[0.0, -0.0, NAN], [1.0, 0.0, -1.0]]),
        torch.tensor([0, 3, 0, -1], dtype=torch.int8),
        torch.tensor([0j, 1j, 1 + 0j]),
        torch.tensor([0.0, 2.0], dtype=torch.bfloat16),
    ],
)
def test_nonzero_of_numbers(x):
    agree(torch.nonzero, x)


def test_masked_select():
    x = random(4, 5)
    agree(torch.masked_select, x, x > 0)
    agree(torch.masked_select, x, mask(5))
    agree(torch.masked_select, x.t(), mask(4))
    agree(torch.masked_select, random(5), mask(4, 1))
    agree(torch.masked_select, torch.tensor(3.0), torch.tensor(True))
    agree(torch.masked_select, random(0, 3), mask(3))
    agree(torch.masked_select, x.to(torch.int64), x > 9)
    agree(torch.masked_select, x.to(torch.complex64), x > 0)
    refused(torch.masked_select, x, x)
    refused(torch.masked_select, x, mask(4, 3))


def test_out_takes_the_size():
    x = random(4, 5)

    def into(op, *inputs, shape, dtype):
        out = torch.empty(shape, dtype=dtype, device=inputs[0].device)
        op(*inputs, out=out)
        return out

    select = lambda x, m: into(torch.masked_select, x, m, shape=(0,), dtype=x.dtype)  # noqa: E731
    agree(select, x, x > 0)
    agree(lambda x: into(torch.nonzero, x, shape=(0,), dtype=torch.int64), x > 0)
    refused(lambda x: into(torch.nonzero, x, shape=(0,), dtype=torch.float32), x)
    refused(lambda x, m: into(torch.masked_select, x, m, shape=(0,), dtype=torch.int32), x, x > 0)


A, B = (True, False, True, True), (True, True, False, True, False)  # three of four, of five
ONE, NO = (False, True, False, False), (False,) * 4


def flags(x, bits):
    return torch.tensor(bits, device=x.device)


INDICES = {
    "leading": lambda x, m: x[m(4)],
    "all": lambda x, m: x[m(4, 5, 6)],
    "two": lambda x, m: x[m(4, 5)],
    "middle": lambda x, m: x[:, m(5)],
    "last": lambda x, m: x[..., m(6)],
    "last two": lambda x, m: x[:, m(5, 6)],
    "transposed": lambda x, m: x.transpose(0, 2)[m(6)],
    "strided": lambda x, m: x[::2, 1:][:, m(4)],
    "with a number": lambda x, m: x[m(4), :, 1],
    "with one integer": lambda x, m: x[m(4), :, [1]],
    "two masks": lambda x, m: x[flags(x, A), flags(x, B)],
    "masks apart": lambda x, m: x[flags(x, A), :, flags(x, (*B, False))],
    "one alone": lambda x, m: x[flags(x, ONE), m(5)],
    "one alone behind": lambda x, m: x[flags(x, A), flags(x, (*ONE, False))],
    "with integers": lambda x, m: x[flags(x, A), [0, 1, 2]],
    "one with integers": lambda x, m: x[flags(x, ONE), [0, 1, 2]],
    "broadcast": lambda x, m: x[flags(x, A), [[0, 1, 4], [1, 2, 3]]],
    "in a column": lambda x, m: x[flags(x, A), [[0], [1]]],
    "none": lambda x, m: x[flags(x, NO)],
    "none of several": lambda x, m: x[flags(x, NO), flags(x, (*NO, False))],
    "none with one": lambda x, m: x[flags(x, NO), [1]],
    "number": lambda x, m: x[torch.tensor(True), None],
    "false": lambda x, m: x[flags(x, False)],
    "empty": lambda x, m: x[:0][m(4)[:0]],
    "nothing left": lambda x, m: x[:, :0][m(4)],
    "octets": lambda x, m: x[m(4).to(torch.uint8)],
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_index_by_masks(name):
    program = INDICES[name]
    agree(lambda x: program(x, lambda *shape: mask(*shape).to(x.device)), random(4, 5, 6))


def test_many_blocks_outside_the_mask():
    agree(lambda x, m: x[:, :, m], random(5, 6, 40), mask(40))


def test_masks_that_do_not_fit():
    x = random(4, 5)
    refused(lambda x, m: x[m], x, mask(5))
    refused(lambda x, m: x[:, m], x, mask(4))
    with pytest.raises(IndexError, match="could not be broadcast together"):
        on_device(x)[on_device(torch.ones(4, dtype=torch.bool)), [0, 1]]
    with pytest.raises(IndexError, match="could not be broadcast together"):
        on_device(x)[torch.ones(4, dtype=torch.bool), torch.ones(5, dtype=torch.bool)]


def gradients(fn, *inputs):
    leaves = [x.detach().requires_grad_() for x in inputs]
    result = fn(*leaves)
    weights = torch.arange(1.0, 1 + result.numel(), device=result.device).view(result.shape)
    return torch.autograd.grad(result, leaves, weights)


def test_gradients():
    m = mask(4, 5)
    agree(lambda x, m: gradients(lambda x: x.masked_select(m), x), random(4, 5), m)
    agree(lambda x, m: gradients(lambda x: x[m], x), random(4, 5), m)
    agree(lambda x, m: gradients(lambda x: x[m], x), random(4, 5, 3), m)
    agree(lambda x, m: gradients(lambda x: x[:, m].exp(), x), random(3, 5), mask(5))
    agree(lambda x: gradients(lambda x: x[flags(x, A), [0, 1, 2]], x), random(4, 3))


ELEMENTS = {
    "floats": torch.tensor([3.0, 1.0, 3.0, -2.0, 1.0, 1.0]),
    "nan": torch.tensor([[NAN, 1.0, NAN], [1.0, -1.0, float("inf")]]),
    "int64": torch.tensor([2**40, -(2**40), 2**40, 0]),
    "uint8": torch.tensor([[255, 0], [0, 255]], dtype=torch.uint8),
    "bool": torch.tensor([True, True, False]),
    "all the same": torch.ones(7),
    "float64": torch.tensor([0.1, 0.1, 0.2], dtype=torch.float64),
    "bfloat16": torch.tensor([0.5, 1.0, 0.5], dtype=torch.bfloat16),
    "many": torch.randint(50, (30, 20), generator=torch.Generator().manual_seed(0)),
    "number": torch.tensor(4.0),
    "empty": torch.empty(0, 3),
}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize(("inverse", "counts"), [(True, True), (False, False), (True, False)])
def test_unique(name, inverse, counts):
    options = {"return_inverse": inverse, "return_counts": counts}
    agree(lambda x: torch.unique(x, **options), ELEMENTS[name])
    agree(lambda x: torch.unique_consecutive(x, **options), ELEMENTS[name])


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.uint8])
def test_unique_slices(dim, dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(2, (6, 3, 5), generator=generator)
    x = torch.cat([x, x[[2, 2, 0]]]).to(dtype)
    options = {"return_inverse": True, "return_counts": True, "dim": dim}
    agree(lambda x: torch.unique(x, **options), x)
    agree(lambda x: torch.unique_consecutive(x, **options), x)


def test_unique_of_slices_without_elements():
    agree(lambda x: torch.unique(x, dim=0, return_inverse=True), torch.empty(0, 3))
    refused(lambda x: torch.unique(x, dim=1), torch.empty(0, 3))
    refused(torch.unique, torch.ones(3, dtype=torch.complex64))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_bincount(dtype):
    x = torch.tensor([1, 5, 5, 0, 2], dtype=dtype)
    agree(torch.bincount, x)
    agree(lambda x: torch.bincount(x, minlength=9), x)
    for weights in (random(5), random(5, dtype=torch.float64), x, x > 1, random(5).half()):
        agree(torch.bincount, x, weights)
    agree(lambda x: torch.bincount(x[:0], minlength=4), x)


def test_bincount_refuses_what_the_cpu_does():
    x = torch.tensor([1, 2])
    refused(torch.bincount, x.float())
    refused(torch.bincount, x.view(1, 2))
    refused(torch.bincount, -x)
    refused(lambda x: torch.bincount(x, minlength=-1), x)
    refused(torch.bincount, x, random(3))


def test_repeat_interleave():
    repeats = torch.tensor([2, 0, 3, 1])
    agree(torch.repeat_interleave, repeats)
    agree(lambda r: torch.repeat_interleave(r, output_size=6), repeats)
    agree(torch.repeat_interleave, repeats.int())
    agree(torch.repeat_interleave, repeats * 0)
    agree(torch.repeat_interleave, repeats[:0])
    agree(lambda x, r: (x.repeat_interleave(r, 0), x.repeat_interleave(2)), random(4, 3), repeats)
    agree(lambda x, r: gradients(lambda x: x.repeat_interleave(r, 0), x), random(4, 3), repeats)
    refused(torch.repeat_interleave, -repeats)
    refused(torch.repeat_interleave, repeats.float())
    refused(lambda r: torch.repeat_interleave(r, output_size=7), repeats)


def test_combinations():
    agree(lambda x: (torch.combinations(x), torch.combinations(x, 3, True)), random(5))


def test_lengths_of_ctc_loss_on_the_device():
    def loss(scores, targets, inputs, lengths):
        scores = scores.detach().requires_grad_()
        total = torch.ops.aten._ctc_loss.Tensor(scores.log_softmax(-1), targets, inputs, lengths)[0]
        return total, *torch.autograd.grad(total.sum(), [scores])

    lengths = torch.tensor([2, 3]), torch.tensor([6, 5])
    agree(loss, random(6, 2, 5), torch.tensor([[1, 2, 0], [3, 3, 1]]), lengths[1], lengths[0])


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda x: x.nonzero(), 1),
        (lambda x: x[x > 0], 1),
        (lambda x: x.masked_select(x > 0), 1),
        (lambda x: torch.unique(x, return_inverse=True, return_counts=True), 1),
        (lambda x: torch.unique_consecutive(x, dim=0), 1),
        (lambda x: x[:, x[0] > 0], 1),
        (lambda x: (x.flatten() > 0).long().bincount(), 4),  # the range, and a check of two
        (lambda x: torch.repeat_interleave((x[0] > 0).long()), 4),
    ],
)
def test_only_the_sizes_are_read(call, numbers):
    x = random(30, 40).to("neuron")
    before = _C._bytes_read()
    call(x)
    assert _C._bytes_read() - before == numbers * COUNT


def test_reading_a_result_reads_no_more_than_it():
    x = random(3000).to("neuron")
    found = x[x > 1]
    before = _C._bytes_read()
    found.cpu()
    assert _C._bytes_read() - before == found.nbytes


def test_room_is_given_back():
    """What a result keeps is at most twice its size, whatever it was selected from."""
    x = torch.zeros(2**20, device="neuron")
    x[::1024] = 1
    torch.neuron.synchronize()
    before = torch.neuron.memory_allocated()
    found = x[x > 0]
    torch.neuron.synchronize()
    assert found.shape == (1024,)
    assert found.untyped_storage().nbytes() == found.nbytes
    assert torch.neuron.memory_allocated() - before <= 2**16


def test_counts_share_a_program():
    x = random(1000).to("neuron")
    x[x > 0.0]
    x.masked_select(x > 0.0)
    before = torch_neuronx.cache_info().requests
    for bound in (-0.5, 0.3, 1.5, 9.0):
        x[x > bound]
        x.masked_select(x > bound)
    assert torch_neuronx.cache_info().requests == before


def test_a_result_is_a_tensor_like_others():
    def used(x):
        found = x[x > 0]
        found += 1
        found[0] = 5
        view = found[1:]
        view.mul_(2)
        copy = found.clone()
        found.resize_(2)
        return found, copy, copy.view(torch.int32), torch.cat([copy, copy]), copy.to("cpu")

    agree(used, random(300))
