"""Trainers of tiny models on the CPU and on the device, from the same data."""

import tiny
import torch
import transformers

LENGTH = 16


class Lines(torch.utils.data.Dataset):
    """`count` sequences of tokens to be predicted from each other."""

    def __init__(self, count=32, length=LENGTH):
        generator = torch.Generator().manual_seed(0)
        self.ids = torch.randint(len(tiny.SPECIAL), 60, (count, length), generator=generator)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


def trainer(folder, model, device="neuron", callbacks=(), **arguments):
    """Of 6 steps with a batch of 4, whose losses are all in `losses(trainer)`; no checkpoints."""
    defaults = {
        "max_steps": 6,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
    }
    arguments = transformers.TrainingArguments(
        str(folder), use_cpu=device == "cpu", **{**defaults, **arguments}
    )
    assert arguments.device.type == device
    return transformers.Trainer(
        model,
        arguments,
        train_dataset=Lines(),
        eval_dataset=Lines(8),
        callbacks=list(callbacks),
    )


def losses(trainer):
    """Of each step that it has logged."""
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
