"""Graphs that have tensors on the CPU beside those of the device."""

import torch
from agreement import on, random, same
from graphs import compiled


def test_numbers_constants_and_tensors_of_the_host():
    def program(x, scale, table):
        offsets = torch.tensor([1.0, 2.0, 3.0])
        return x * scale + table.to(x.device) + offsets.to(x.device), table * 2

    x, scale, table = random(3), torch.tensor(2.5), random(3, seed=1)
    got = compiled(program, fullgraph=True)(on("neuron", x), scale, table)
    assert [g.device.type for g in got] == ["neuron", "cpu"]
    same(got, program(x, scale, table))


def test_host_tensors_are_updated_in_place():
    def program(x, step, counts):
        step += 1
        counts.mul_(2)
        return x * step

    x, step, counts = random(3), torch.tensor(0.0), torch.ones(2)
    function = compiled(program, fullgraph=True)
    for _ in range(3):
        want = x * (step + 1)
        same(function(on("neuron", x), step, counts), want)
    assert step.item() == 3 and counts.tolist() == [8.0, 8.0]


def test_results_brought_to_the_host():
    def program(x):
        return (x * 2).cpu(), x.sum()

    x = random(3)
    got = compiled(program, fullgraph=True)(on("neuron", x))
    assert got[0].device.type == "cpu"
    same(got, program(x))
