"""sentence-transformers trains an encoder as on the CPU."""

import pytest
import torch
from roundings import close

import torch_neuronx

sentence_transformers = pytest.importorskip("sentence_transformers")
datasets = pytest.importorskip("datasets")
import tiny_models  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer import losses  # noqa: E402

STEPS = 3


def trained(folder, model_folder, device):
    model = SentenceTransformer(str(model_folder), device=device)
    pairs = [
        {"anchor": tiny_models.sentence(i, 4), "positive": tiny_models.sentence(i, 6)}
        for i in range(4 * STEPS)
    ]
    settings = sentence_transformers.SentenceTransformerTrainingArguments(
        output_dir=str(folder / device),
        use_cpu=device == "cpu",
        per_device_train_batch_size=4,
        max_steps=STEPS,
        learning_rate=0.05,
        lr_scheduler_type="constant",
        optim="sgd",
        logging_steps=1,
        report_to="none",
        save_strategy="no",
    )
    trainer = sentence_transformers.SentenceTransformerTrainer(
        model=model,
        args=settings,
        train_dataset=datasets.Dataset.from_list(pairs),
        loss=losses.MultipleNegativesRankingLoss(model),
    )
    trainer.train()
    assert model.device.type == device
    reported = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return reported, model.encode([tiny_models.sentence(0, 4)], convert_to_tensor=True)


def test_ranking_among_the_batch_is_learnt_as_on_the_cpu(tmp_path):
    folder = tiny_models.sentence_encoder(tmp_path / "model")
    want, encoded = trained(tmp_path, folder, "cpu")
    with torch_neuronx.no_fallback():
        got, ours = trained(tmp_path, folder, "neuron")
    assert len(got) == STEPS
    # Similarities are multiplied by 20 before the softmax, and errors with them.
    terms = 20 * STEPS * tiny_models.ENCODER_TERMS
    for g, w in zip(got, want, strict=True):
        close(g, w, terms)
    close(ours, encoded, terms)
    assert isinstance(ours, torch.Tensor)
