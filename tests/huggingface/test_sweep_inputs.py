"""Arguments of a model's forward come from its signature, its configuration and its tasks."""

import pytest

from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.inputs import BATCH, LENGTH
from torch_neuronx.sweep.reduction import SPECIAL
from torch_neuronx.sweep.subject import build


@pytest.mark.parametrize(
    ("family", "model", "task", "arguments"),
    [
        ("bert", "BertForSequenceClassification", "SEQUENCE_CLASSIFICATION",
         {"input_ids", "attention_mask", "labels"}),
        ("t5", "T5Model", "MODEL", {"input_ids", "attention_mask", "decoder_input_ids"}),
        ("vit", "ViTForImageClassification", "IMAGE_CLASSIFICATION", {"pixel_values", "labels"}),
        ("gpt2", "GPT2LMHeadModel", "CAUSAL_LM", {"input_ids", "attention_mask", "labels"}),
    ],
)  # fmt: skip
def test_arguments(family, model, task, arguments):
    subject = build(Architecture("transformers", family, model, (task,)))
    assert set(subject.inputs) == arguments
    if "input_ids" in arguments:
        ids = subject.inputs["input_ids"]
        assert ids.shape == (BATCH, LENGTH)
        assert int(ids.min()) >= SPECIAL and int(ids.max()) < subject.model.config.vocab_size
        assert 0 < int(subject.inputs["attention_mask"].sum()) < BATCH * LENGTH  # some padding
    output = subject.forward()
    assert ("labels" in arguments) == (getattr(output, "loss", None) is not None)
    assert subject.gradients(output)


@pytest.mark.parametrize(
    ("family", "model", "task", "shapes"),
    [
        ("bert", "BertForMultipleChoice", "MULTIPLE_CHOICE",
         {"input_ids": (BATCH, 2, LENGTH), "labels": (BATCH,)}),
        ("bert", "BertForQuestionAnswering", "QUESTION_ANSWERING",
         {"start_positions": (BATCH,), "end_positions": (BATCH,)}),
        ("bart", "BartForSequenceClassification", "SEQUENCE_CLASSIFICATION", {"labels": (BATCH,)}),
        ("dpt", "DPTForSemanticSegmentation", "SEMANTIC_SEGMENTATION", {"labels": (BATCH, 32, 32)}),
        ("blip-2", "Blip2ForConditionalGeneration", "MULTIMODAL_LM",
         {"pixel_values": (BATCH, 3, 32, 32), "labels": (BATCH, LENGTH)}),
    ],
)  # fmt: skip
def test_labels_give_the_loss_of_the_task(family, model, task, shapes):
    subject = build(Architecture("transformers", family, model, (task,)))
    assert {name: tuple(subject.inputs[name].shape) for name in shapes} == shapes
    assert subject.forward().loss.isfinite().all()


def test_time_series_reach_as_far_back_as_the_lags():
    subject = build(Architecture("transformers", "informer", "InformerModel", ("MODEL",)))
    config = subject.model.config
    past = config.context_length + max(config.lags_sequence)
    assert subject.inputs["past_time_features"].shape == (BATCH, past, config.num_time_features)
    assert subject.forward().last_hidden_state.shape[1] == config.prediction_length


def test_the_same_seed_builds_the_same_model():
    one, two = (build(Architecture("transformers", "gpt2", "GPT2LMHeadModel")) for _ in "12")
    assert (one.inputs["input_ids"] == two.inputs["input_ids"]).all()
    for a, b in zip(one.model.parameters(), two.model.parameters(), strict=True):
        assert (a == b).all()


def _inputs(family, model, task="MODEL"):
    return build(Architecture("transformers", family, model, (task,))).inputs


def test_images_in_a_grid_are_patches():
    inputs = _inputs("muse_spark_vision", "MuseSparkVisionModel")
    patches = int(inputs["grid_thw"].prod(-1).sum())
    assert inputs["pixel_values"].shape[0] == patches


def test_a_time_series_is_as_long_as_its_context():
    assert _inputs("patchtst", "PatchTSTModel")["past_values"].shape == (BATCH, 32, 1)


def test_a_class_may_take_other_arguments_than_its_type():
    assert _inputs("perceiver", "PerceiverModel")["inputs"].is_floating_point()
    learned = "PerceiverForImageClassificationLearned"
    assert "pixel_values" in _inputs("perceiver", learned, "IMAGE_CLASSIFICATION")


def test_what_is_classified_ends():
    inputs = _inputs("bart", "BartForSequenceClassification", "SEQUENCE_CLASSIFICATION")
    assert (inputs["input_ids"][:, -1] == 2).all()
