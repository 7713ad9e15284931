"""Compiling ahead: without running, in another process, and by PyTorch's portable artifacts."""

import json
import os
import subprocess
import sys

import pytest
import torch
from agreement import same
from graphs import compiled, graph_rows
from torch import nn

import torch_neuronx

TRAIN = """
import json, sys, torch, torch_neuronx
if sys.argv[1] == "load":
    torch.compiler.load_cache_artifacts(open(sys.argv[2], "rb").read())
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
model = torch.compile(model.to("neuron"), backend="neuron")
loss = model(torch.ones(3, 8, device="neuron")).square().sum()
loss.backward()
if sys.argv[1] == "save":
    data, info = torch.compiler.save_cache_artifacts()
    assert len(info.neuron_artifacts) == 4
    open(sys.argv[2], "wb").write(data)
rows = [r for r in torch_neuronx.explain().rows if r.nodes]
print(json.dumps({"loss": loss.item(), "tiers": [r.tier for r in rows],
                  "lowering": sum(r.lowering_seconds for r in rows)}))
"""


def run(cache, how, file=""):
    environment = {**os.environ, "TORCH_NEURONX_NEFF_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", TRAIN, how, str(file)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_second_process_neither_lowers_nor_compiles(tmp_path):
    first, second = run(tmp_path, "plain"), run(tmp_path, "plain")
    assert first["tiers"] == ["compiled", "compiled"]
    assert second["tiers"] == ["disk", "disk"] and second["lowering"] == 0
    assert second["loss"] == first["loss"]


def test_artifacts_carry_the_executables_to_another_cache(tmp_path):
    first = run(tmp_path / "one", "save", tmp_path / "artifacts")
    second = run(tmp_path / "other", "load", tmp_path / "artifacts")
    assert second["tiers"] == ["disk", "disk"] and second["lowering"] == 0
    assert second["loss"] == first["loss"]


def test_compile_only_makes_programs_and_changes_nothing():
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).to(
        "neuron"
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    function, x = compiled(model), torch.ones(3, 8, device="neuron")
    before = {name: value.cpu().clone() for name, value in model.state_dict().items()}

    def step():
        loss = function(x).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    with torch_neuronx.compile_only():
        assert step().item() == 0  # there is nothing to read
        loss = step()
    for name, value in model.state_dict().items():
        assert torch.equal(value.cpu(), before[name])
    with pytest.raises(RuntimeError, match="compile_only"):
        loss + 1
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    made = len(torch_neuronx.explain().rows)
    step()
    assert step().item() > 0
    assert [row.op for row in torch_neuronx.explain().rows[made:]] == []


def test_compile_only_ends_with_its_block_even_by_an_error():
    with pytest.raises(ZeroDivisionError), torch_neuronx.compile_only():
        raise ZeroDivisionError
    same(torch.ones(2, device="neuron") + 1, torch.full((2,), 2.0))


def test_dynamo_metrics_name_each_program():
    torch.neuron.reset_dynamo_metrics()
    compiled(lambda x: x * 2 + 1)(torch.ones(3, device="neuron"))
    (metric,) = torch.neuron.get_dynamo_metrics()
    assert (metric.graph_name, metric.graph_node_count) == ("<lambda> [0/0]", 2)
    assert metric.torch_neuronx_compile_us > 0
    assert torch_neuronx.get_dynamo_metrics() == [metric]
    torch_neuronx.neuron_dynamo_backend.reset_dynamo_metrics()
    assert torch.neuron.get_dynamo_metrics() == []


def test_explain_tells_of_graphs():
    since = len(torch_neuronx.explain().rows)
    function = compiled(lambda x: x.exp() + 1, dynamic=False)
    for size in (3, 4):
        function(torch.ones(size, device="neuron"))
    first, second = graph_rows(since)
    assert first.nodes == 2 and first.op == "<lambda> [0/0]"
    assert "size mismatch at index 0. expected 3, actual 4" in second.why
    assert first.op in str(torch_neuronx.explain())
    rows = json.loads(torch_neuronx.explain().to_json())["programs"]
    assert rows[-1]["nodes"] == 2 and "lowering_seconds" in rows[-1]


def test_artifacts_of_a_graph_are_kept_for_reading(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS", "1")
    monkeypatch.setenv("TORCH_NEURONX_DEBUG_DIR", str(tmp_path))
    monkeypatch.setenv("TORCH_NEURONX_NEFF_DISABLE_CACHE", "1")
    compiled(lambda x: x.cos() * 3, options={"model_name": "waves"})(torch.ones(5, device="neuron"))
    (folder,) = tmp_path.glob("*waves*")
    assert "torch.ops.aten.cos" in (folder / "graph.txt").read_text()
    assert "stablehlo.cosine" in (folder / "program.mlir").read_text()
    assert (folder / "executable.bin").stat().st_size > 0
