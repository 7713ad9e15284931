"""A small Llama learns Python's help topics as it does on the CPU, and compiles once."""

import pydoc_data.topics

import pytest
import tiny
import torch
import transformers

import torch_neuronx

BLOCK, BATCH, STEPS = 64, 4, 12
# Of a step's loss: one rounding for each term of the longest sum, which is the gradient of the head
# over all tokens of a batch; the steps' add up.
ERROR = BLOCK * BATCH * STEPS * torch.finfo(torch.float32).eps


class NewPrograms(transformers.TrainerCallback):
    """How many programs there were after each step."""

    def __init__(self):
        self.after = []

    def on_step_end(self, args, state, control, **kwargs):
        self.after.append(len(torch_neuronx.explain().rows))


@pytest.fixture(scope="module")
def blocks():
    tokenizer = tiny.tokenizer()
    text = "\n".join(list(pydoc_data.topics.topics.values())[:12])
    ids = tokenizer(text, return_tensors="pt", truncation=False).input_ids[0]
    count = len(ids) // BLOCK
    assert count >= BATCH * STEPS
    return [{"input_ids": b, "labels": b} for b in ids[: count * BLOCK].view(count, BLOCK)]


def train(folder, blocks, device, **options):
    arguments = transformers.TrainingArguments(
        str(folder),
        use_cpu=device == "cpu",
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        **options,
    )
    programs = NewPrograms()
    model = tiny.build("llama", hidden_size=64, intermediate_size=128)
    trainer = transformers.Trainer(model, arguments, train_dataset=blocks, callbacks=[programs])
    torch_neuronx.clear_op_tracking()
    trainer.train()
    assert torch_neuronx.get_fallback_ops() == []
    return [e["loss"] for e in trainer.state.log_history if "loss" in e], programs.after


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_losses_are_the_cpus_and_nothing_is_compiled_after_two_steps(tmp_path, blocks, compiled):
    torch._dynamo.reset()
    want, _ = train(tmp_path, blocks, "cpu")
    got, programs = train(tmp_path, blocks, "neuron", torch_compile=compiled)
    assert want[-1] < want[0] - 0.3  # it learns
    assert got == pytest.approx(want, abs=ERROR)
    assert programs[1:] == [programs[1]] * (STEPS - 1)
