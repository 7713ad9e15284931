"""pipeline(..., device="neuron") on batches answers as on the CPU."""

import pytest
import tiny
import torch
import transformers

import torch_neuronx

# Scores are of the order of 1; one rounding for each term of the longest sum, the worst case.
ERROR = 64 * torch.finfo(torch.float32).eps


@pytest.fixture
def answers(tmp_path):
    def both(task, kind, texts, **options):
        tiny.save(kind, tmp_path)
        want = transformers.pipeline(task, model=str(tmp_path), device="cpu")(texts, **options)
        pipe = transformers.pipeline(task, model=str(tmp_path), device="neuron")
        assert pipe.model.device.type == "neuron"
        with torch_neuronx.no_fallback():
            return pipe(texts, **options), want

    return both


def near(got, want):
    """Nested lists and dicts whose numbers agree within ERROR, and whose other leaves are equal."""
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            near(got[key], want[key])
    elif isinstance(want, list):
        assert len(got) == len(want)
        for pair in zip(got, want, strict=True):
            near(*pair)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=ERROR, abs=ERROR)
    else:
        assert got == want


def test_text_generation(answers):
    how = {"max_new_tokens": 2, "do_sample": False, "batch_size": 2}
    near(*answers("text-generation", "llama", list(tiny.TEXTS), **how))


def test_fill_mask(answers):
    texts = [f"{text} <mask>" for text in tiny.TEXTS]
    near(*answers("fill-mask", "bert", texts, batch_size=2))


def test_text_classification(answers):
    near(
        *answers("text-classification", "bert_classifier", list(tiny.TEXTS), batch_size=2, top_k=3)
    )


def test_feature_extraction(answers):
    near(*answers("feature-extraction", "bert", list(tiny.TEXTS), batch_size=2))
