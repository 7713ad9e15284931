"""A LoRA adapter is merged, switched off, saved and loaded, from the device and to it."""

import pytest
import torch
from roundings import close

import torch_neuronx

peft = pytest.importorskip("peft")
import tiny_models  # noqa: E402

LAYERS, WIDTH, LENGTH = 2, 32, 12
TERMS = LAYERS * (4 * WIDTH + 2 * WIDTH + LENGTH)  # of the products in a layer


def adapted(device="neuron", seed=3):
    """A model whose adapter changes what it says."""
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False)
    model = tiny_models.llama()
    torch.manual_seed(seed)
    return peft.get_peft_model(model, config).to(device).eval()


@torch.no_grad()
def logits(model):
    return model(tiny_models.tokens(2, LENGTH).to(model.device)).logits


def test_a_merged_adapter_gives_what_the_adapter_gave():
    want = logits(adapted("cpu"))
    with torch_neuronx.no_fallback():
        model = adapted()
        close(logits(model), want, TERMS)
        merged = model.merge_and_unload()
        close(logits(merged), want, 2 * TERMS)
    assert not any("lora" in name for name, _ in merged.named_parameters())


def test_a_disabled_adapter_leaves_the_model_as_it_was():
    model = adapted()
    plain = tiny_models.llama().eval()
    with model.disable_adapter():
        close(logits(model), logits(plain), TERMS)


def test_two_adapters_are_switched_between():
    model, cpu = adapted(), adapted("cpu")
    torch.manual_seed(5)
    other = peft.LoraConfig(task_type="CAUSAL_LM", r=2, init_lora_weights=False)
    cpu.add_adapter("other", other)
    torch.manual_seed(5)
    model.add_adapter("other", other)
    assert {p.device.type for p in model.parameters()} == {"neuron"}
    for name in ("other", "default"):
        model.set_adapter(name)
        cpu.set_adapter(name)
        close(logits(model), logits(cpu), TERMS)


def test_an_adapter_saved_from_the_device_loads_on_the_cpu(tmp_path):
    model = adapted()
    model.save_pretrained(tmp_path)
    loaded = peft.PeftModel.from_pretrained(
        tiny_models.llama(), tmp_path, torch_device="cpu"
    ).eval()
    close(logits(loaded), logits(model), TERMS)


def test_an_adapter_saved_on_the_cpu_loads_on_the_device(tmp_path):
    cpu = adapted("cpu")
    cpu.save_pretrained(tmp_path)
    loaded = peft.PeftModel.from_pretrained(tiny_models.llama().to("neuron"), tmp_path).eval()
    assert {p.device.type for p in loaded.parameters()} == {"neuron"}
    close(logits(loaded), logits(cpu), TERMS)


def test_the_devices_name_is_refused_by_safetensors(tmp_path):
    """Where this fails, safetensors has learnt it, and docs/huggingface.md has a line too many."""
    adapted().save_pretrained(tmp_path)
    model = tiny_models.llama().to("neuron")
    with pytest.raises(Exception, match="device neuron is invalid"):
        peft.PeftModel.from_pretrained(model, tmp_path, torch_device="neuron")
