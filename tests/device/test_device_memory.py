"""Device memory: statistics, limits and out-of-memory errors."""

import gc
import itertools

import pytest
import torch

MIB = 2**20


@pytest.fixture
def limit(device):
    """Sets the fraction for one test."""
    torch.empty(1, device=device)
    yield torch.neuron.set_per_process_memory_fraction
    torch.neuron.set_per_process_memory_fraction(1.0)


def make(nbytes):
    return torch.zeros(nbytes, dtype=torch.uint8).to("neuron")


def test_allocated_follows_the_tensors(device):
    gc.collect()
    before = torch.neuron.memory_allocated()
    tensor = make(8 * MIB)
    assert torch.neuron.memory_allocated(device) == before + 8 * MIB
    assert torch.neuron.memory_reserved() == torch.neuron.memory_allocated()
    view = tensor[10:]
    del tensor
    assert torch.neuron.memory_allocated() == before + 8 * MIB
    del view
    assert torch.neuron.memory_allocated() == before


def test_an_unwritten_tensor_holds_no_memory(device):
    before = torch.neuron.memory_allocated()
    tensor = torch.empty(64 * MIB, dtype=torch.uint8, device=device)
    assert torch.neuron.memory_allocated() == before
    assert tensor.untyped_storage().nbytes() == 64 * MIB


def test_peaks_and_their_reset():
    torch.neuron.reset_peak_memory_stats()
    before = torch.neuron.memory_allocated()
    tensor = make(4 * MIB)
    del tensor
    assert torch.neuron.max_memory_allocated() >= before + 4 * MIB
    assert torch.neuron.max_memory_reserved() == torch.neuron.max_memory_allocated()
    torch.neuron.reset_peak_memory_stats()
    assert torch.neuron.max_memory_allocated() == torch.neuron.memory_allocated()


def test_accumulated_totals_and_their_reset():
    torch.neuron.reset_accumulated_memory_stats()
    tensor = make(MIB)
    del tensor
    stats = torch.neuron.memory_stats()
    assert stats["allocated_bytes.all.allocated"] >= MIB
    assert stats["allocated_bytes.all.freed"] >= MIB
    torch.neuron.reset_accumulated_memory_stats()
    assert torch.neuron.memory_stats()["allocated_bytes.all.freed"] == 0


def test_stats_have_pytorchs_keys():
    stats = torch.neuron.memory_stats()
    for key in (
        "active_bytes.all.peak",
        "reserved_bytes.all.peak",
        "allocated_bytes.all.current",
        "allocation.all.current",
        "segment.large_pool.allocated",
        "inactive_split_bytes.small_pool.freed",
        "requested_bytes.all.peak",
        "num_alloc_retries",
        "num_ooms",
        "num_device_alloc",
        "num_sync_all_streams",
    ):
        assert isinstance(stats[key], int), key
    assert list(stats) == sorted(stats)
    assert set(torch.accelerator.memory_stats()) <= set(stats)


def test_the_accelerator_api_agrees():
    tensor = make(MIB)
    assert torch.accelerator.memory_allocated() == torch.neuron.memory_allocated()
    assert torch.accelerator.max_memory_reserved() == torch.neuron.max_memory_reserved()
    assert torch.accelerator.get_memory_info() == torch.neuron.mem_get_info()
    torch.accelerator.empty_cache()
    torch.accelerator.reset_peak_memory_stats()
    torch.accelerator.reset_accumulated_memory_stats()
    assert tensor.sum().item() == 0


def test_mem_get_info_and_the_fraction(limit):
    free, total = torch.neuron.mem_get_info()
    assert 0 < free <= total == torch.neuron.get_device_properties().total_memory
    limit(0.25)
    assert torch.neuron.get_per_process_memory_fraction() == pytest.approx(0.25)
    free, unchanged = torch.neuron.mem_get_info()
    assert free <= total // 4
    assert unchanged == total
    for wrong, error in ((1.5, ValueError), (-0.1, ValueError), ("half", TypeError)):
        with pytest.raises(error, match="fraction"):
            limit(wrong)


def test_out_of_memory_names_the_sizes_and_leaves_the_process_usable(limit):
    kept = make(MIB)
    ooms = torch.neuron.memory_stats()["num_ooms"]
    total = torch.neuron.get_device_properties().total_memory
    limit((torch.neuron.memory_allocated() + 4 * MIB) / total)
    for attempt in (
        lambda: make(16 * MIB),
        lambda: torch.empty(16 * MIB, dtype=torch.uint8, device="neuron"),
        lambda: kept.repeat(16),
    ):
        with pytest.raises(torch.OutOfMemoryError, match=r"out of memory\. .*16\.00 MiB"):
            attempt()
    assert torch.neuron.memory_stats()["num_ooms"] >= ooms + 3
    assert (kept + 1).sum().item() == MIB


def test_a_hundred_large_tensors_leave_nothing_behind():
    gc.collect()
    before = torch.neuron.memory_allocated()
    for _ in range(100):
        make(10 * MIB)
    assert torch.neuron.memory_allocated() == before


def test_snapshot_lists_what_tensors_hold():
    tensor = make(3 * MIB)
    (segment,) = [s for s in torch.neuron.memory_snapshot() if s["address"] == tensor.data_ptr()]
    assert segment["total_size"] == 3 * MIB
    assert segment["device"] == 0
    assert segment["blocks"][0]["state"] == "active_allocated"


def test_summary_is_a_table():
    summary = torch.neuron.memory_summary()
    assert summary.startswith("Memory of neuron:0")
    assert "Allocated memory" in summary
    assert "Allocations" not in torch.neuron.memory_summary(abbreviated=True)
    torch.neuron.empty_cache()


def test_addresses_are_distinct_aligned_and_offset_by_views(device):
    tensors = [torch.empty(1000, device=device) for _ in range(20)]
    spans = sorted((t.data_ptr(), t.data_ptr() + 4000) for t in tensors)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(start % 512 == 0 for start, _ in spans)
    assert tensors[0][10:].data_ptr() == tensors[0].data_ptr() + 40
    assert torch.empty(0, device=device).data_ptr() == 0


def test_storages_resize(device):
    tensor = torch.arange(4, device=device)
    storage = tensor.untyped_storage()
    storage.resize_(64)
    assert storage.nbytes() == 64
    assert tensor.cpu().tolist() == [0, 1, 2, 3]
    storage.resize_(0)
    assert storage.nbytes() == storage.data_ptr() == 0


def test_host_code_that_reads_an_address_faults():
    from subprocesses import run

    result = run(
        """
        import ctypes, torch
        tensor = torch.ones(4).to("neuron")
        ctypes.string_at(tensor.data_ptr(), 4)
        """,
        check=False,
    )
    assert result.returncode == -11  # SIGSEGV, not silent garbage
