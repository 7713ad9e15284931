"""TRL's DPOTrainer gives the CPU's losses and rewards; GRPOTrainer samples, scores and learns."""

import pytest
import torch
from roundings import close

import torch_neuronx

trl = pytest.importorskip("trl")
import datasets  # noqa: E402
import tiny_models  # noqa: E402
import transformers  # noqa: E402

STEPS, LAYERS, WIDTH, LENGTH = 3, 2, 32, 128  # TRL pads to a multiple of 128 on the device
TERMS = STEPS * LAYERS * (4 * WIDTH + 2 * WIDTH + LENGTH)  # of the products in a layer


def options(folder, device, **more):
    return {
        "output_dir": str(folder / device),
        "use_cpu": device == "cpu",
        "per_device_train_batch_size": 4,
        "max_steps": STEPS,
        "lr_scheduler_type": "constant",
        "optim": "sgd",
        "logging_steps": 1,
        "report_to": "none",
        "save_strategy": "no",
        "bf16": False,
        "gradient_checkpointing": False,
        **more,
    }


@pytest.fixture
def model_folder(tmp_path):
    """A saved model, for the trainers load another one of it as their reference."""
    tiny_models.llama().save_pretrained(tmp_path / "model")
    tiny_models.tokenizer().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def loaded(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def preferences():
    def pair(i):
        prompt, chosen, rejected = (tiny_models.sentence(3 * i + k, 4 + k) for k in range(3))
        return {"prompt": prompt, "chosen": " " + chosen, "rejected": " " + rejected}

    return datasets.Dataset.from_list([pair(i) for i in range(4 * STEPS)])


def preferred(folder, model_folder, device, **more):
    """What each step reports."""
    torch.manual_seed(1)
    trainer = trl.DPOTrainer(
        model=loaded(model_folder),
        args=trl.DPOConfig(**options(folder, device, learning_rate=1e-2, **more)),
        train_dataset=preferences(),
        processing_class=tiny_models.tokenizer(),
    )
    assert trainer.model.device.type == device
    trainer.train()
    return [entry for entry in trainer.state.log_history if "loss" in entry]


@pytest.mark.parametrize("loss_type", ["sigmoid", "ipo"])
def test_direct_preference_optimisation_is_that_of_the_cpu(tmp_path, model_folder, loss_type):
    wants = preferred(tmp_path, model_folder, "cpu", loss_type=[loss_type])
    with torch_neuronx.no_fallback():
        gots = preferred(tmp_path, model_folder, "neuron", loss_type=[loss_type])
    assert len(gots) == len(wants) == STEPS
    for got, want in zip(gots, wants, strict=True):
        for name in ("loss", "rewards/chosen", "rewards/rejected", "rewards/margins", "grad_norm"):
            close(got[name], want[name], TERMS)
    assert gots[-1]["rewards/chosen"] != 0  # it has moved away from the reference


def length_of(completions, **_):
    return [float(len(completion.split())) for completion in completions]


def test_group_relative_policy_optimisation_runs_on_the_device(tmp_path, model_folder):
    prompts = datasets.Dataset.from_list([{"prompt": tiny_models.sentence(i, 3)} for i in range(4)])
    more = {"num_generations": 4, "max_completion_length": 4, "learning_rate": 1e-2, "beta": 0.1}
    model = loaded(model_folder)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    trainer = trl.GRPOTrainer(
        model=model,
        reward_funcs=length_of,
        args=trl.GRPOConfig(**options(tmp_path, "neuron", **{**more, "max_steps": 2})),
        train_dataset=prompts,
        processing_class=tiny_models.tokenizer(),
    )
    with torch_neuronx.no_fallback():
        trainer.train()
    entries = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(entries) == 2
    assert all(0 <= entry["reward"] <= 4 for entry in entries)
    assert any(not torch.equal(p.cpu(), before[n]) for n, p in model.named_parameters())
