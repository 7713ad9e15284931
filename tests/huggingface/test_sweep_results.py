"""Results are put together by check, a sweep goes on where an earlier one ended, totals count."""

import datetime
import json
import os

import pytest

from torch_neuronx.sweep import due as due_module
from torch_neuronx.sweep import results
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.due import due

LLAMA = Architecture("transformers", "llama", "LlamaForCausalLM", ("CAUSAL_LM",))
BERT = Architecture("transformers", "bert", "BertModel", ("MODEL",))


def record(architecture, checks, failures=(), at="2026-01-01T00:00:00+00:00", ran=None):
    return {
        "name": architecture.name,
        "library": architecture.library,
        "family": architecture.family,
        "model": architecture.model,
        "tasks": list(architecture.tasks),
        "at": at,
        "ran": list(checks) if ran is None else ran,
        "checks": checks,
        "failures": [{"check": c, "cause": "backend", "kind": "E", "message": c} for c in failures],
        "seconds": {},
    }


def test_later_checks_replace_earlier_ones_and_the_others_stay(tmp_path):
    path = tmp_path / "results.jsonl"
    first = {"load": "passed", "forward": "failed", "compile": "failed"}
    results.append(path, record(LLAMA, first, ["forward", "compile"]))
    results.append(path, record(LLAMA, {"load": "passed", "forward": "passed"}))
    with path.open("a") as file:
        file.write('{"name": "unfinish')  # as a killed sweep leaves it
    (found,) = results.read(path).values()
    assert found["checks"] == {"load": "passed", "forward": "passed", "compile": "failed"}
    assert [f["check"] for f in found["failures"]] == ["compile"]
    assert found["ran"] == ["compile", "forward", "load"]


def test_what_has_a_result_is_not_due():
    before = {LLAMA.name: record(LLAMA, {"load": "passed", "forward": "failed"}, ["forward"])}
    both, checks = [LLAMA, BERT], ("load", "forward")
    assert due(both, before, checks) == [BERT]
    assert due(both, before, checks, again="failed") == both
    assert due([LLAMA], before, (*checks, "compile")) == [LLAMA]
    before = {LLAMA.name: record(LLAMA, {"load": "passed"}, ran=["load"])}
    assert due([LLAMA], before, ("load",), again="failed") == []
    assert due([LLAMA], before, ("load",), again="all") == [LLAMA]


def test_changed_since(tmp_path, monkeypatch):
    source = tmp_path / "rule.py"
    source.write_text("")
    written = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    os.utime(source, (written.timestamp(), written.timestamp()))
    monkeypatch.setattr(due_module, "_SOURCES", (tmp_path,))
    older = {LLAMA.name: record(LLAMA, {"load": "passed"}, at="2026-02-01T00:00:00+00:00")}
    newer = {LLAMA.name: record(LLAMA, {"load": "passed"}, at="2026-04-01T00:00:00+00:00")}
    arguments = ([LLAMA], older, ("load",))
    assert due(*arguments, changed_since="2026-01-15") == [LLAMA]
    assert due(*arguments, changed_since="2026-03-02") == []  # nothing has changed since
    assert due([LLAMA], newer, ("load",), changed_since="2026-01-15") == []
    with pytest.raises(ValueError, match="neither a date nor a git revision"):
        due(*arguments, changed_since="no-such-revision")


def test_totals():
    good = {"load": "passed", "forward": "passed", "compile": "passed"}
    wrong = {**good, "forward": "wrong"}
    rows = results.totals([record(LLAMA, good), record(BERT, wrong, ["forward"])])
    generating, classes = rows[0], rows[1]
    assert (generating["count"], generating["eager"], generating["compiled"]) == (1, 1, 1)
    assert (classes["count"], classes["eager"], classes["wrong"], classes["backend"]) == (
        2,
        1,
        1,
        1,
    )
    assert "1 (50.0%)" in results.table(rows)


def test_the_document_is_json():
    document = json.loads(results.document([record(LLAMA, {"load": "passed"})], "today"))
    assert document["records"][0]["name"] == LLAMA.name
    assert document["made"] == "today"
