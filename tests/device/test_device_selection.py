"""Choosing devices: counting, the current device, and opening the runtime."""

import threading

import pytest
import torch
from subprocesses import run

COUNT = "import torch; print(torch.neuron.device_count())"
UNSET = dict.fromkeys(("NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES", "LOCAL_WORLD_SIZE"))


def count(**environment):
    return int(run(COUNT, **{**UNSET, **environment}).stdout)


def test_device_count_comes_from_the_environment():
    # In one process each, so all the cases in one test.
    assert count() == 1
    assert count(NEURON_RT_NUM_CORES="3") == 3
    assert count(LOCAL_WORLD_SIZE="4") == 4
    assert count(NEURON_RT_VISIBLE_CORES="2", NEURON_RT_NUM_CORES="3") == 1
    assert count(NEURON_RT_VISIBLE_CORES="0-3") == 4
    assert count(NEURON_RT_VISIBLE_CORES="1,3") == 2


def test_a_malformed_variable_counts_no_device_and_is_named_when_opening():
    result = run(
        """
        import torch
        assert torch.neuron.device_count() == 0 and not torch.neuron.is_available()
        assert not torch.accelerator.is_available()
        try:
            torch.neuron.init()
        except ValueError as error:
            print(error)
        """,
        **{**UNSET, "NEURON_RT_VISIBLE_CORES": "3-1"},
    )
    assert "NEURON_RT_VISIBLE_CORES='3-1' is not valid" in result.stdout


def test_a_platform_that_cannot_be_opened_raises_at_the_first_tensor_and_again():
    result = run(
        """
        import torch
        assert not torch.neuron.is_available()
        for _ in range(2):
            try:
                torch.ones(2, device="neuron")
            except RuntimeError as error:
                print(error)
        assert not torch.neuron.is_initialized()
        """,
        TORCH_NEURONX_PLATFORM="/no/such/plugin.so",
    )
    assert result.stdout.count("/no/such/plugin.so") == 2


def test_current_device_starts_at_the_local_rank():
    result = run(
        "import torch; print(torch.neuron.device_count(), torch.neuron.current_device())",
        **{**UNSET, "LOCAL_WORLD_SIZE": "4", "LOCAL_RANK": "3"},
    )
    assert result.stdout.split() == ["4", "3"]


def test_all_ways_to_set_the_current_device():
    assert torch.neuron.current_device() == 0
    for device in (1, "neuron:1", torch.device("neuron", 1)):
        torch.neuron.set_device(device)
        assert torch.neuron.current_device() == torch.accelerator.current_device_index() == 1
        torch.neuron.set_device(0)
    torch.neuron.set_device(-1)
    assert torch.neuron.current_device() == 0


def test_device_context_restores_the_previous_device():
    with torch.neuron.device("neuron:1"):
        assert torch.neuron.current_device() == 1
        assert torch.empty(1, device="neuron").device.index == 1
        with torch.neuron.device(None):
            assert torch.neuron.current_device() == 1
    assert torch.neuron.current_device() == 0


def test_exchange_device_returns_the_previous_one():
    assert torch.neuron._exchange_device(1) == 0
    assert torch.neuron._exchange_device(-1) == 1
    assert torch.neuron._maybe_exchange_device(0) == 1


def test_each_thread_has_its_own_current_device():
    seen = []

    def other():
        torch.neuron.set_device(1)
        seen.append(torch.neuron.current_device())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [1]
    assert torch.neuron.current_device() == 0


def test_a_device_that_does_not_exist_is_named():
    with pytest.raises(RuntimeError, match="Invalid device neuron:99: this process has"):
        torch.neuron.set_device(99)
    with pytest.raises(RuntimeError, match="Invalid device neuron:99"):
        torch.empty(1, device="neuron:99")
    with pytest.raises(ValueError, match="Expected a neuron device, but got: cpu"):
        torch.neuron.memory_allocated("cpu")


def test_the_first_tensor_opens_the_device(device):
    torch.empty(1, device=device)
    assert torch.neuron.is_initialized()


def test_many_threads_may_open_the_device_at_once():
    result = run("""
        import threading, torch
        barrier, results = threading.Barrier(8), []
        def first_tensor(i):
            barrier.wait()
            results.append(torch.full((4,), i).to("neuron").cpu().tolist() == [i] * 4)
        threads = [threading.Thread(target=first_tensor, args=(i,)) for i in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(results.count(True))
    """)
    assert result.stdout == "8\n"


def test_properties(device):
    properties = torch.neuron.get_device_properties()
    assert properties == torch.neuron.get_device_properties(0)
    assert "neuron" in properties.name == torch.neuron.get_device_name(device)
    assert properties.total_memory > 2**20
    assert properties.platform in properties.name


def test_capability_lists_the_dtypes_of_tensors():
    dtypes = torch.neuron.get_device_capability()["supported_dtypes"]
    assert {torch.bool, torch.float64, torch.bfloat16, torch.uint16, torch.complex128} <= dtypes
    assert torch.float8_e4m3fn in dtypes
    assert not {torch.complex32, torch.quint8, torch.bits8, torch.int4} & dtypes


def test_the_accelerator_is_this_device():
    assert torch.accelerator.current_accelerator() == torch.device("neuron")
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == torch.neuron.device_count()
    with torch.accelerator.device_index(1):
        assert torch.neuron.current_device() == 1
