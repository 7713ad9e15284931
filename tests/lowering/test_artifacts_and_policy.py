"""What a person can ask to see of a compile, and the policy for a rule that fails."""

import os
import subprocess
import sys

import pytest
import torch

import torch_neuronx
from torch_neuronx.lowering import registry
from torch_neuronx.lowering.value import LoweringError


def test_each_compile_leaves_graph_stablehlo_and_executable(tmp_path):
    environment = {
        **os.environ,
        "TORCH_NEURONX_DEBUG_DIR": str(tmp_path),
        "TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS": "1",
        "TORCH_NEURONX_NEFF_CACHE_DIR": str(tmp_path / "cache"),
    }
    script = "import torch; x = torch.ones(2, 2, device='neuron'); x.expm1(); torch.rot90(x)"
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    (folder,) = tmp_path.glob("*aten.expm1.default")
    assert "aten.expm1" in (folder / "graph.txt").read_text()
    assert "stablehlo.exponential_minus_one" in (folder / "program.mlir").read_text()
    assert (folder / "executable.bin").stat().st_size > 0
    (traced,) = tmp_path.glob("*rot90*")
    assert "call_function" in (traced / "graph.txt").read_text()


@pytest.fixture
def broken_rule(monkeypatch):
    """A rule that always fails, for an operator and a shape that nothing else uses."""

    def rule(out, x):
        raise LoweringError("it is broken")

    op = torch.ops.aten.special_i1e.default
    found = registry.rule(op)
    monkeypatch.setitem(registry._rules, op, registry.Rule(op, rule, found.runtime, found.passed))


def test_a_failing_rule_runs_on_the_host_with_a_warning(broken_rule, monkeypatch):
    monkeypatch.setenv("TORCH_NEURONX_NEFF_DISABLE_CACHE", "1")
    x = torch.ones(3, 13)
    with pytest.warns(UserWarning, match="its lowering failed: it is broken"):
        result = torch.special.i1e(x.to("neuron"))
    torch.testing.assert_close(result.cpu(), torch.special.i1e(x))
    assert "aten::special_i1e" in torch_neuronx.get_fallback_ops()


def test_only_unimplemented_ops_may_fall_back(broken_rule, monkeypatch):
    monkeypatch.setenv("TORCH_NEURONX_NEFF_DISABLE_CACHE", "1")
    monkeypatch.setenv("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS", "1")
    with pytest.raises(RuntimeError, match=r"Lowering aten.special_i1e.default .* it is broken"):
        torch.special.i1e(torch.ones(3, 17, device="neuron"))
    assert torch.ones(2, device="neuron").sum().item() == 2
