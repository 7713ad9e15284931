"""Buffers are reused: saved tensors by the backward pass, inputs by their new values."""

import gc

import torch
from agreement import on, random, same
from graphs import compiled, extra_memory

MIB = 2**20


def chain(x, weights):
    for weight in weights:
        x = (x @ weight).relu()
    return x.sum()


def test_the_backward_pass_takes_the_memory_of_a_saved_tensor():
    weights = [random(64, 64, seed=s).to("neuron").requires_grad_() for s in range(3)]
    x = random(MIB // 64, 64).to("neuron").requires_grad_()  # 4 MiB, as is each saved result
    function = compiled(chain, fullgraph=True)

    def gradient_peak(**options):
        x.grad = None
        loss = function(x, weights)
        return extra_memory(lambda: loss.backward(**options))

    gradient_peak()
    assert gradient_peak() < MIB  # x.grad lies where the last saved result was
    assert gradient_peak(retain_graph=True) > 3 * MIB  # which a second backward still needs


def test_an_input_that_is_updated_keeps_its_memory():
    cache, row = random(MIB, 1).to("neuron"), random(1, 1).to("neuron")

    @torch.compile(backend="neuron", fullgraph=True)
    def write(cache, row, at):
        cache.index_copy_(0, at, row)
        return row + 1

    write(cache, row, torch.tensor([1], device="neuron"))
    assert extra_memory(lambda: write(cache, row, torch.tensor([5], device="neuron"))) < MIB
    assert cache[5].item() == row.item()


def test_an_updated_input_that_is_returned_has_one_buffer():
    cache = random(MIB, 1).to("neuron")

    @torch.compile(backend="neuron", fullgraph=True)
    def write(cache):
        cache[3] = 7.0
        return cache, cache[:8].t()

    write(cache)
    assert extra_memory(lambda: write(cache)) < MIB
    whole, part = write(cache)
    cache[3] = 9.0
    assert whole is cache
    assert part[0, 3].item() == 9.0


def test_an_update_that_is_also_a_result_of_its_own_does_not_follow_the_input():
    def grow(x):
        before = x + 1  # one value for PyTorch's partitioner
        x.add_(1)
        return before

    x, y = random(3).to("neuron"), random(3).to("neuron").requires_grad_()
    for given in (x, y * 1):
        before = compiled(grow, fullgraph=True)(given)
        want = before.detach().cpu()
        with torch.no_grad():
            given.mul_(2)
        same(before, want)


def test_statistics_are_updated_in_place():
    layer = torch.nn.BatchNorm1d(MIB // 4, affine=False).to("neuron")  # 1 MiB for each statistic
    function = compiled(layer, fullgraph=True)
    x = random(2, MIB // 4).to("neuron").requires_grad_()

    def train():
        x.grad = None
        function(x).mean().backward()

    train(), train()
    address, before = layer.running_mean.data_ptr(), layer.running_mean.cpu()
    # The result and its gradient, or the two saved statistics of the batch: 2 MiB each.
    assert extra_memory(train) < 5 * MIB
    assert layer.running_mean.data_ptr() == address
    assert not torch.equal(layer.running_mean.cpu(), before)


def test_what_is_still_held_is_not_overwritten():
    cache = random(8, 4)
    ours = on("neuron", cache)
    copy = ours.clone()  # shares the buffer until one of the two is written

    @torch.compile(backend="neuron", fullgraph=True)
    def double(cache):
        cache.mul_(2)

    double(ours)
    same(copy, cache)
    same(ours, cache * 2)


def test_a_graph_goes_with_the_function_that_was_compiled():
    from torch_neuronx.compile.graph import Programs

    def alive():
        gc.collect()
        return {id(found): found for found in gc.get_objects() if isinstance(found, Programs)}

    torch._dynamo.reset()
    before = alive()  # of other tests, kept so that their ids are nobody else's
    function = compiled(lambda x: x.sin() + 1)
    function(torch.ones(3, device="neuron"))
    (made,) = alive().keys() - before.keys()
    del function
    torch._dynamo.reset()
    assert made not in alive()
