"""Accelerate's tools for models that are larger than a device, with weights in checkpoints, on the
host and on disk."""

import pytest
import torch
from accelerate_state import forget
from roundings import close

import torch_neuronx

accelerate = pytest.importorskip("accelerate")

WIDTH, DEPTH = 16, 4


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.full((WIDTH,), 2.0))

    def forward(self, x):
        return x * self.factor


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH))
        self.scale = Scale()

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.scale(x)


@pytest.fixture
def x():
    return torch.randn(3, WIDTH)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Stack()


def agrees(model, x, want):
    with torch_neuronx.no_fallback(), torch.no_grad():
        close(model(x), want, DEPTH * WIDTH)


@pytest.fixture
def checkpoint(model, tmp_path):
    """Several files and an index of them."""
    accelerate.Accelerator(cpu=True).save_model(model, tmp_path, max_shard_size="2KB")
    forget()
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    return tmp_path


def empty():
    with accelerate.init_empty_weights():
        return Stack()


@pytest.mark.parametrize("index", [0, 1])
def test_a_checkpoint_is_loaded_straight_onto_a_core(model, checkpoint, x, index):
    """A number, which PyTorch takes for one of its accelerator: safetensors knows no "neuron"."""
    loaded = accelerate.load_checkpoint_and_dispatch(empty(), checkpoint, device_map={"": index})
    assert {p.device for p in loaded.state_dict().values()} == {torch.device("neuron", index)}
    agrees(loaded, x.to(f"neuron:{index}"), model(x))


def test_safetensors_refuses_the_devices_name(checkpoint):
    """Where this fails, safetensors has learnt it, and docs/huggingface.md has a line too many."""
    safetensors = pytest.importorskip("safetensors.torch")
    path = next(iter(checkpoint.glob("*.safetensors")))
    with pytest.raises(Exception, match="device neuron is invalid"):
        safetensors.load_file(path, device="neuron")
    assert {t.device.type for t in safetensors.load_file(path, device=0).values()} == {"neuron"}


def test_an_automatic_map_splits_a_model_between_cores_and_host(model, checkpoint, x):
    """Accelerate counts the memory of CUDA devices only, so it is told."""
    layer = 4 * (WIDTH * WIDTH + WIDTH)  # bytes
    loaded = accelerate.load_checkpoint_and_dispatch(
        empty(),
        checkpoint,
        device_map="auto",
        max_memory={0: 3 * layer, 1: 2 * layer, "cpu": 10 * layer},
        no_split_module_classes=["Linear"],
    )
    places = {str(place) for place in loaded.hf_device_map.values()}
    assert {"0", "1"} <= places
    agrees(loaded, x, model(x))


def test_cpu_offload_brings_each_layer_to_the_device_for_its_turn(model, x):
    want = model(x)
    accelerate.cpu_offload(model, execution_device="neuron", offload_buffers=True)
    assert {p.device.type for p in model.parameters()} == {"meta"}
    agrees(model, x, want)


def test_disk_offload_reads_each_layer_for_its_turn(model, x, tmp_path):
    want = model(x)
    accelerate.disk_offload(model, tmp_path, execution_device="neuron", offload_buffers=True)
    agrees(model, x, want)


def test_a_model_with_hooks_can_be_moved_back(model, x):
    want = model(x)
    model, hook = accelerate.cpu_offload_with_hook(model, execution_device="neuron")
    agrees(model, x, want)
    assert {p.device.type for p in model.parameters()} == {"neuron"}
    hook.offload()
    assert {p.device.type for p in model.parameters()} == {"cpu"}
