"""docs/migration.md: what it says to write runs, and every name of ours on it exists."""

import ast
import re

import pytest
import snippets
import torch

import torch_neuronx

pytest.importorskip("transformers", reason="the page ports scripts of transformers, too")

PAGE = "docs/migration.md"
BEFORE, AFTER = "python before", "python"
ELSEWHERE = re.compile(r"torch\.(backends\.)?cuda|torch_xla|torch_neuronx\.trace\b")


@pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning")
def test_every_block_after_runs():
    assert snippets.run(PAGE)


def test_every_block_is_marked():
    text = (snippets.ROOT / PAGE).read_text()
    assert {fence[1] for fence in snippets.FENCE.findall(text)} == {BEFORE, AFTER}


def test_a_block_before_is_python_for_another_device():
    before = [code for _, code in snippets.blocks(PAGE, BEFORE)]
    assert before
    for code in before:
        ast.parse(code)
        assert re.search(r"cuda|torch_xla|optimum", code)


def names_of_ours():
    """What the page writes in code after the first column of a table, and begins in torch."""
    text = (snippets.ROOT / PAGE).read_text()
    for row in re.findall(r"^\|(?!-)(.*)\|$", text, re.MULTILINE):
        for cell in row.split("|")[1:]:
            for code in re.findall(r"`([^`]+)`", cell):
                name = re.match(r"torch(_neuronx)?(\.\w+)+", code)
                if name and not ELSEWHERE.match(code):
                    yield name[0]


@pytest.mark.parametrize("name", sorted(set(names_of_ours())))
def test_a_name_in_the_tables_exists(name):
    first, *rest = name.split(".")
    value = {"torch": torch, "torch_neuronx": torch_neuronx}[first]
    for part in rest:
        value = getattr(value, part)


def test_links_lead_somewhere():
    text = (snippets.ROOT / PAGE).read_text()
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        if path:
            assert (snippets.ROOT / "docs" / path).resolve().exists(), target
        else:
            assert anchor in anchors, target
