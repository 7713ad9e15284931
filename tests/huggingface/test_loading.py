"""from_pretrained puts a model on the device, bit for bit, and save_pretrained brings it back."""

import copy

import pytest
import tiny
import torch
import transformers
from safetensors.torch import load_file

import torch_neuronx

IDS = torch.arange(10, 26).view(2, 8)
# Of the largest logit: one rounding for each term of the longest sum, the worst case.
ERROR = 64 * torch.finfo(torch.float32).eps


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    return folder, tiny.save("llama", folder)


def load(folder, **options):
    with torch_neuronx.no_fallback():
        return transformers.AutoModelForCausalLM.from_pretrained(folder, **options)


def same_weights(model, want):
    got, want = model.state_dict(), want.state_dict()
    assert got.keys() == want.keys()
    for name, weight in got.items():
        assert weight.device == torch.device("neuron", 0)
        assert torch.equal(weight.cpu(), want[name]), name


@pytest.mark.parametrize(
    "device_map", ["neuron", "neuron:0", torch.device("neuron"), {"": "neuron:0"}, 0]
)
def test_device_map(saved, device_map):
    folder, want = saved
    model = load(folder, device_map=device_map)
    same_weights(model, want)
    with torch.no_grad(), torch_neuronx.no_fallback():
        logits = model(IDS.to(model.device)).logits.cpu()
        expected = want(IDS).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=ERROR * expected.abs().max().item())


def test_device_map_auto_with_the_memory_of_the_device(saved):
    """accelerate measures the memory of the devices it has a list of; here it is told."""
    folder, want = saved
    memory = {0: torch.neuron.mem_get_info()[0]}
    same_weights(load(folder, device_map="auto", max_memory=memory), want)


def test_the_device_as_a_context(saved):
    folder, want = saved
    with torch.device("neuron"):
        model = load(folder)
    same_weights(model, want)


def test_to(saved):
    folder, want = saved
    same_weights(load(folder).to("neuron"), want)


@pytest.mark.parametrize("kind", ["gpt2", "bert", "t5"])
def test_tied_weights_stay_tied(tmp_path, kind):
    want = tiny.save(kind, tmp_path)
    model = type(want).from_pretrained(tmp_path, device_map="neuron")
    same_weights(model, want)
    head, embedding = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    assert head.data_ptr() == embedding.data_ptr()


def test_another_dtype(saved):
    folder, want = saved
    model = load(folder, device_map="neuron", dtype=torch.bfloat16)
    same_weights(model, copy.deepcopy(want).bfloat16())


def test_saved_from_the_device_and_loaded_on_the_cpu(saved, tmp_path):
    folder, want = saved
    load(folder, device_map="neuron").save_pretrained(tmp_path)
    again = load(tmp_path)
    for name, weight in again.state_dict().items():
        assert torch.equal(weight, want.state_dict()[name]), name


def test_safetensors_straight_to_the_device(saved):
    """safetensors has a list of device names; a number is the accelerator, whichever it is."""
    folder, want = saved
    tensors = load_file(folder / "model.safetensors", device=0)
    for name, tensor in tensors.items():
        assert tensor.device == torch.device("neuron", 0)
        assert torch.equal(tensor.cpu(), want.state_dict()[name])
