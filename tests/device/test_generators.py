"""Generators: seeds, offsets and states, on the host alone."""

import pytest
import torch
from subprocesses import run


@pytest.fixture(autouse=True)
def _keep_states():
    states, cpu = torch.neuron.get_rng_state_all(), torch.get_rng_state()
    yield
    torch.neuron.set_rng_state_all(states)
    torch.set_rng_state(cpu)


def fields(state):
    assert state.dtype == torch.uint8
    assert state.device.type == "cpu"
    assert state.shape == (16,)
    return state.view(torch.int64).tolist()


def test_a_new_generator_has_the_default_seed():
    generator = torch.Generator("neuron")
    assert generator.initial_seed() == torch.Generator().initial_seed() == 67280421310721
    assert generator.device == torch.device("neuron:0")
    assert torch.Generator("neuron:1").device.index == 1


def test_state_is_seed_and_offset():
    generator = torch.Generator("neuron").manual_seed(7)
    assert fields(generator.get_state()) == [7, 0]
    generator.set_offset(12)
    assert generator.get_offset() == 12
    assert fields(generator.get_state()) == [7, 12]
    assert fields(torch.Generator("neuron").set_state(generator.get_state()).get_state()) == [7, 12]
    assert fields(generator.manual_seed(8).get_state()) == [8, 0]


@pytest.mark.parametrize("seed", [0, 2**63 - 1, 2**64 - 1, -1])
def test_any_64_bit_seed(seed):
    assert torch.Generator("neuron").manual_seed(seed).initial_seed() == seed % 2**64


def test_a_state_without_offset_is_accepted_and_others_refused():
    generator = torch.Generator("neuron")
    generator.set_offset(4)
    generator.set_state(torch.tensor([9]).view(torch.uint8))
    assert fields(generator.get_state()) == [9, 0]
    with pytest.raises(RuntimeError, match="RNG state is wrong size: expected 16 bytes"):
        generator.set_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(TypeError, match=r"must be a torch\.ByteTensor"):
        generator.set_state(torch.zeros(16))


def test_a_clone_is_independent_and_a_graphsafe_state_is_shared():
    generator = torch.Generator("neuron").manual_seed(1)
    clone, shared = generator.clone_state(), generator.graphsafe_get_state()
    generator.set_offset(4)
    assert (clone.get_offset(), shared.get_offset()) == (0, 4)
    generator.graphsafe_set_state(clone)
    clone.set_offset(8)
    assert generator.get_offset() == 8
    with pytest.raises(RuntimeError):
        generator.graphsafe_set_state(torch.Generator())


def test_torch_manual_seed_reaches_every_device():
    torch.manual_seed(11)
    assert [fields(s) for s in torch.neuron.get_rng_state_all()] == [[11, 0]] * (
        torch.neuron.device_count()
    )
    torch.neuron.manual_seed(12)
    assert torch.neuron.initial_seed() == 12
    assert fields(torch.neuron.get_rng_state(1)) == [11, 0]
    torch.neuron.manual_seed_all(13)
    assert fields(torch.neuron.get_rng_state("neuron:1")) == [13, 0]


def test_seed_is_random_and_alike_on_every_device():
    torch.neuron.seed_all()
    states = torch.neuron.get_rng_state_all()
    assert all(torch.equal(s, states[0]) for s in states)
    before = torch.neuron.initial_seed()
    torch.neuron.seed()
    assert torch.neuron.initial_seed() != before


def test_default_generators_differ_between_processes():
    seeds = {run("import torch; print(torch.neuron.initial_seed())").stdout for _ in range(2)}
    assert len(seeds) == 2


def test_default_generators_are_those_that_torch_uses(device):
    generators = torch.neuron.default_generators
    assert len(generators) == torch.neuron.device_count()
    generators[0].manual_seed(5)
    first = torch.rand(8, device=device)
    assert generators[0].get_offset() > 0
    generators[0].manual_seed(5)
    assert torch.equal(torch.rand(8, device=device), first)


def test_rng_state_replays_the_numbers(device):
    state = torch.neuron.get_rng_state()
    first = torch.randn(5, device=device)
    second = torch.randn(5, device=device)
    torch.neuron.set_rng_state(state)
    assert torch.equal(torch.randn(5, device=device), first)
    assert torch.equal(torch.randn(5, device=device), second)
    assert not torch.equal(first, second)


def test_fork_rng_restores_cpu_and_device(device):
    torch.manual_seed(3)
    with torch.random.fork_rng(devices=[0], device_type="neuron"):
        expected = torch.rand(3, device=device)
        torch.rand(3)
    assert torch.equal(torch.rand(3, device=device), expected)


def test_device_numbers_leave_the_cpu_generator_alone(device):
    state = torch.get_rng_state()
    torch.randn(100, device=device)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_generator_of_another_device_is_refused(device):
    with pytest.raises(RuntimeError, match="device type for generator"):
        torch.rand(2, device=device, generator=torch.Generator())
