"""Tensors of different devices, devices that do not exist, and what has no place on the device."""

import pytest
import torch
import torch.nn.functional as F
from refusal import integers, raised, readable, values

HOST = torch.ones(3)
INDEX = torch.tensor([0])


def x():
    return torch.ones(3, device="neuron")


def square(device="neuron"):
    return torch.ones(3, 3, device=device)


WITH_HOST = {
    "add": lambda: x() + HOST,
    "add_reversed": lambda: HOST + x(),
    "add_": lambda: x().add_(HOST),
    "add__host": lambda: HOST.clone().add_(x()),
    "scalar_and_host": lambda: torch.ones((), device="neuron") + HOST,
    "out_host": lambda: torch.add(x(), x(), out=HOST.clone()),
    "out_device": lambda: torch.add(HOST, HOST, out=x()),
    "mm": lambda: square() @ square("cpu"),
    "mm_reversed": lambda: square("cpu") @ square(),
    "addmm": lambda: torch.addmm(HOST, square(), square()),
    "linear": lambda: torch.nn.Linear(3, 3)(square()),
    "linear_input": lambda: torch.nn.Linear(3, 3).to("neuron")(square("cpu")),
    "conv": lambda: F.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2, device="neuron")),
    "batch_norm": lambda: torch.nn.BatchNorm1d(3)(square()),
    "layer_norm": lambda: torch.nn.LayerNorm(3)(square()),
    "embedding": lambda: F.embedding(INDEX, square()),
    "embedding_weight": lambda: F.embedding(INDEX.to("neuron"), square("cpu")),
    "cat": lambda: torch.cat([x(), HOST]),
    "cat_reversed": lambda: torch.cat([HOST, x()]),
    "stack": lambda: torch.stack([x(), HOST]),
    "where": lambda: torch.where(x() > 0, x(), HOST),
    "masked_fill": lambda: x().masked_fill(HOST > 0, 1),
    "host_by_device_index": lambda: HOST[INDEX.to("neuron")],
    "index_put_values": lambda: x().index_put((INDEX,), torch.ones(1)),
    "gather": lambda: x().gather(0, INDEX),
    "index_select": lambda: x().index_select(0, INDEX),
    "scatter": lambda: x().scatter(0, INDEX, 1.0),
    "cross_entropy": lambda: F.cross_entropy(square(), torch.tensor([0, 1, 2])),
    "mse": lambda: F.mse_loss(x(), HOST),
    "foreach": lambda: torch._foreach_add([x()], [HOST]),
    "foreach_mixed": lambda: torch._foreach_add([x(), HOST], 1.0),
    "meta": lambda: x() + torch.empty(3, device="meta"),
}
WITH_OTHER = {
    "add": lambda: x() + x().to("neuron:1"),
    "scalar": lambda: x() + torch.ones((), device="neuron:1"),
    "mm": lambda: square() @ square("neuron:1"),
    "cat": lambda: torch.cat([x(), x().to("neuron:1")]),
    "add_": lambda: x().add_(x().to("neuron:1")),
    "out": lambda: torch.add(x(), x(), out=x().to("neuron:1")),
    "index": lambda: x()[INDEX.to("neuron:1")],
    "foreach": lambda: torch._foreach_add([x()], [x().to("neuron:1")]),
}
OWN_WORDS = {
    "attention": lambda: F.scaled_dot_product_attention(
        square()[None], square()[None], square("cpu")[None]
    ),
    "lstm": lambda: torch.nn.LSTM(3, 3)(square()[None]),
    "gradient": lambda: (x().requires_grad_() * 2).backward(HOST),
    "generator": lambda: torch.rand(3, device="neuron", generator=torch.Generator()),
    "set_": lambda: x().set_(HOST),
    "equal": lambda: torch.equal(x(), HOST),
}
NO_DEVICE = {
    "empty": lambda: torch.empty(3, device="neuron:99"),
    "ones": lambda: torch.ones(3, device="neuron:99"),
    "to": lambda: HOST.to("neuron:99"),
    "between": lambda: x().to("neuron:99"),
    "set_device": lambda: torch.neuron.set_device(99),
    "synchronize": lambda: torch.neuron.synchronize(99),
    "stream": lambda: torch.neuron.Stream(device=99),
    "memory": lambda: torch.neuron.memory_allocated(99),
}
NO_PLACE = {
    "numpy": (lambda: x().numpy(), TypeError, "Use Tensor.cpu()"),
    "pinned": (lambda: x().pin_memory(), RuntimeError, "only dense CPU tensors can be pinned"),
    "from_meta": (
        lambda: torch.empty(3, device="meta").to("neuron"),
        NotImplementedError,
        "Cannot copy out of meta tensor",
    ),
}


@pytest.mark.parametrize("name", WITH_HOST)
def test_mixing_with_the_host(name):
    error = raised(lambda _: WITH_HOST[name]())
    assert type(error) is RuntimeError
    text = readable(error)
    assert "Expected all tensors to be on the same device" in text or name == "meta"
    assert "neuron:0" in text
    assert ("meta" if name == "meta" else "cpu") in text


@pytest.mark.parametrize("name", WITH_OTHER)
def test_mixing_two_devices(name):
    text = readable(raised(lambda _: WITH_OTHER[name]()))
    assert "found at least two devices, neuron:" in text
    assert "neuron:0" in text and "neuron:1" in text


@pytest.mark.parametrize("name", OWN_WORDS)
def test_mixing_that_pytorch_finds_first(name):
    error = raised(lambda _: OWN_WORDS[name]())
    assert type(error) is RuntimeError
    assert "neuron" in readable(error) and "cpu" in str(error)


@pytest.mark.parametrize("name", NO_DEVICE)
def test_a_device_that_does_not_exist(name):
    error = raised(lambda _: NO_DEVICE[name]())
    assert type(error) is RuntimeError
    assert "Invalid device neuron:" in readable(error)
    assert "this process has 2 neuron devices" in str(error)


@pytest.mark.parametrize("name", NO_PLACE)
def test_what_has_no_place_on_the_device(name):
    program, kind, text = NO_PLACE[name]
    error = raised(lambda _: program())
    assert isinstance(error, kind)
    assert text in readable(error)


def test_what_may_be_mixed():
    """Numbers that live on the host, indices of a device tensor, and copies."""
    assert (x() + torch.tensor(1.0)).tolist() == [2, 2, 2]
    assert x()[torch.tensor(1)].item() == 1
    assert values("neuron", 3)[torch.tensor([2, 0])].tolist() == [0.25, 0]
    assert values("neuron", 3)[torch.tensor([True, False, True])].tolist() == [0, 0.25]
    assert x().copy_(values("neuron:1", 3)).tolist() == [0, 0.125, 0.25]
    assert integers("neuron", 1).to("neuron:1").device.index == 1
