"""Pinned host memory, and the DataLoader that asks for it."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def test_pinned_tensors_and_their_views_are_pinned():
    plain = torch.arange(10.0)
    pinned = plain.pin_memory()
    assert pinned.is_pinned()
    assert pinned[5:].is_pinned()
    assert not plain.is_pinned()
    assert pinned.device.type == "cpu"
    assert torch.equal(pinned, plain)
    assert pinned.data_ptr() % 64 == 0
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert torch.empty(0).pin_memory().shape == (0,)


def test_pinned_memory_is_given_back():
    address = torch.ones(1000).pin_memory().data_ptr()
    torch.accelerator.empty_host_cache()
    assert not torch.frombuffer(bytearray(8), dtype=torch.uint8).is_pinned()
    assert address


def test_copies_from_pinned_memory(device):
    pinned = torch.arange(1000).pin_memory()
    copy = pinned.to(device, non_blocking=True)
    pinned.zero_()  # the copy must not see this
    assert copy.cpu().tolist() == list(range(1000))


def test_dataloader_with_workers_and_pinned_memory(device):
    dataset = TensorDataset(torch.arange(16.0).view(8, 2), torch.arange(8))
    torch.ones(1, device=device)  # the workers are forked from an initialized process
    loader = DataLoader(dataset, batch_size=4, num_workers=2, pin_memory=True)
    seen = []
    for features, labels in loader:
        assert features.is_pinned()
        assert labels.is_pinned()
        seen += labels.to(device, non_blocking=True).cpu().tolist()
    assert sorted(seen) == list(range(8))
