"""Buffers are reused: saved tensors by the backward pass, inputs by their new values."""

import torch
from agreement import on, random, same
from graphs import compiled

MIB = 2**20


def peak_of(call):
    torch.neuron.synchronize()
    before = torch.neuron.memory_allocated()
    torch.neuron.reset_peak_memory_stats()
    call()
    return (torch.neuron.max_memory_allocated() - before) / MIB


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
        return peak_of(lambda: loss.backward(**options))

    gradient_peak()
    assert gradient_peak() < 1  # x.grad lies where the last saved result was
    assert gradient_peak(retain_graph=True) > 3  # which a second backward still needs


def test_an_input_that_is_updated_keeps_its_memory():
    cache, row = random(MIB, 1).to("neuron"), random(1, 1).to("neuron")

    @torch.compile(backend="neuron", fullgraph=True)
    def write(cache, row, at):
        cache.index_copy_(0, at, row)
        return row + 1

    write(cache, row, torch.tensor([1], device="neuron"))
    assert peak_of(lambda: write(cache, row, torch.tensor([5], device="neuron"))) < 1
    assert cache[5].item() == row.item()


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
