"""TRL's SFTTrainer gives the CPU's losses, packed, with chats, and with adapters."""

import pytest
import torch
from roundings import close

import torch_neuronx

trl = pytest.importorskip("trl")
import datasets  # noqa: E402
import tiny_models  # noqa: E402

STEPS, LAYERS, WIDTH = 3, 2, 32
LENGTH = 128  # TRL pads to a multiple of it on the device
TERMS = STEPS * LAYERS * (4 * WIDTH + 2 * WIDTH + LENGTH)  # of the products in a layer

CHAT = (
    "{% for m in messages %}{{ m['role'] }} {% if m['role'] == 'assistant' %}"
    "{% generation %}{{ m['content'] }}{{ eos_token }}{% endgeneration %}"
    "{% else %}{{ m['content'] }}{% endif %} {% endfor %}"
)


def texts():
    return datasets.Dataset.from_list(
        [{"text": tiny_models.sentence(i, 4 + i % 3)} for i in range(4 * STEPS)]
    )


def chats():
    def turns(i):
        asked = {"role": "user", "content": tiny_models.sentence(i, 4)}
        return [asked, {"role": "assistant", "content": tiny_models.sentence(i + 50, 5)}]

    return datasets.Dataset.from_list([{"messages": turns(i)} for i in range(4 * STEPS)])


def losses(folder, device, dataset, peft_config=None, **options):
    tokenizer = tiny_models.tokenizer()
    tokenizer.chat_template = CHAT
    settings = trl.SFTConfig(
        output_dir=str(folder / device),
        use_cpu=device == "cpu",
        per_device_train_batch_size=4,
        max_steps=STEPS,
        max_length=LENGTH,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        optim="sgd",
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        **{"bf16": False, "gradient_checkpointing": False, **options},
    )
    torch.manual_seed(1)
    trainer = trl.SFTTrainer(
        model=tiny_models.llama(),
        args=settings,
        train_dataset=dataset,
        processing_class=tokenizer,
        peft_config=peft_config,
    )
    assert trainer.model.device.type == device
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def agrees(folder, *arguments, terms=TERMS, dtype=torch.float32, **options):
    want = losses(folder, "cpu", *arguments, **options)
    with torch_neuronx.no_fallback():
        got = losses(folder, "neuron", *arguments, **options)
    assert len(got) == len(want) == STEPS
    for g, w in zip(got, want, strict=True):
        close(g, w, terms, dtype)


def test_texts(tmp_path):
    agrees(tmp_path, texts())


def test_texts_packed_into_full_rows(tmp_path):
    agrees(tmp_path, texts(), packing=True, packing_strategy="wrapped")


def test_only_what_the_assistant_says_counts(tmp_path):
    agrees(tmp_path, chats(), assistant_only_loss=True)


def test_an_adapter_with_checkpointed_activations(tmp_path):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=4)
    agrees(tmp_path, texts(), config, gradient_checkpointing=True)


def test_bfloat16(tmp_path):
    """Each of a layer's 7 products rounds what it takes and gives, forward and backward."""
    agrees(tmp_path, texts(), bf16=True, terms=LAYERS * 7 * 2, dtype=torch.bfloat16)
