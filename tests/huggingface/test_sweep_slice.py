"""A dozen architectures of different kinds, through every check, and the command itself."""

import json

import pytest

from torch_neuronx.sweep import libraries
from torch_neuronx.sweep.__main__ import arguments, main, selected
from torch_neuronx.sweep.catalog import Architecture, architectures
from torch_neuronx.sweep.checks import CHECKS, Run

CAUSAL = ("CAUSAL_LM",)
SLICE = [
    ("transformers", "gpt2", "GPT2LMHeadModel", CAUSAL),
    ("transformers", "llama", "LlamaForCausalLM", CAUSAL),
    ("transformers", "qwen3_moe", "Qwen3MoeForCausalLM", CAUSAL),
    ("transformers", "deepseek_v3", "DeepseekV3ForCausalLM", CAUSAL),
    ("transformers", "mamba", "MambaForCausalLM", CAUSAL),
    ("transformers", "bert", "BertForMaskedLM", ("MASKED_LM",)),
    ("transformers", "t5", "T5ForConditionalGeneration", ("SEQ_TO_SEQ_CAUSAL_LM",)),
    ("transformers", "vit", "ViTForImageClassification", ("IMAGE_CLASSIFICATION",)),
    ("transformers", "clip", "CLIPModel", ("MODEL",)),
    ("transformers", "wav2vec2", "Wav2Vec2ForCTC", ("CTC",)),
    ("timm", "resnet", "resnet10t", ("IMAGE_CLASSIFICATION",)),
    ("diffusers", "unets", "UNet2DConditionModel", ()),
]


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    libraries.hush()


@pytest.mark.parametrize("row", SLICE, ids=lambda row: row[2])
def test_passes(row):
    architecture = Architecture(*row)
    # Programs of convolutions take long to make: those two run eagerly.
    compiles = architecture.library == "transformers"
    wanted = CHECKS if compiles else ("load", "forward", "fallback")
    record = Run(architecture, wanted)()
    assert record["failures"] == []
    generates = any("CAUSAL" in task for task in architecture.tasks)
    assert set(record["checks"]) == set(wanted) - (set() if generates else {"generate"})
    assert record["memory"] > 0 and record["parameters"] < 10_000_000


def test_the_command_writes_results_and_goes_on(tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    command = ["--only", "transformers/gpt2/GPT2LMHeadModel", "--library", "transformers"]
    command += [
        "--workers",
        "1",
        "--results",
        str(results),
        "--quiet",
        "--checks",
        "load",
        "forward",
    ]
    page, document = tmp_path / "sweep.html", tmp_path / "sweep.json"
    assert main([*command, "--html", str(page), "--json", str(document)]) == 0
    (line,) = results.read_text().splitlines()
    assert json.loads(line)["checks"] == {"load": "passed", "forward": "passed"}
    assert json.loads(document.read_text())["totals"][0]["eager"] == 1
    assert "GPT2LMHeadModel" in page.read_text()
    assert "| 1 | 1 (100.0%) |" in capsys.readouterr().out
    assert main(command) == 0  # nothing is due
    assert len(results.read_text().splitlines()) == 1


def test_the_catalog_has_what_the_library_has():
    from transformers.models.auto import modeling_auto

    found = architectures("transformers")
    types = set(modeling_auto.MODEL_MAPPING_NAMES) | set(
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    )
    assert types <= {architecture.family for architecture in found}
    generating = [architecture for architecture in found if architecture.generates_text]
    assert len(generating) >= len(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    assert found[: len(generating)] == generating  # they come first
    assert len({architecture.name for architecture in found}) == len(found)


def test_selection_by_name():
    options = arguments(
        ["--library", "transformers", "--only", "transformers/llama/*", "qwen2_moe"]
    )
    families = {architecture.family for architecture in selected(options)}
    assert families == {"llama", "qwen2_moe"}


def test_a_missing_library_is_one_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("importlib.import_module", _missing)
    assert main(["--library", "timm", "--results", str(tmp_path / "r")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def _missing(name, *_):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
