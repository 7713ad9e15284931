"""Eager programs of few elements are compiled by the older, quicker generators of XLA:CPU."""

import pytest
import torch

from torch_neuronx.runtime import cache, options, platforms

PROGRAM = b"""
func.func public @main(%0: tensor<3xf32>) -> tensor<3xf32> {
  %1 = stablehlo.add %0, %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}
"""


@pytest.fixture
def compiles(monkeypatch):
    """Of each compiled program its name and whether it was quick."""
    seen = []
    compile = cache.compile

    def watch(portable, name, *, quick=False, **rest):
        seen.append((name, quick))
        return compile(portable, name, quick=quick, **rest)

    monkeypatch.setattr(cache, "compile", watch)
    monkeypatch.setattr(cache, "lookup", lambda *_: None)
    return seen


@pytest.mark.parametrize(
    ("name", "call", "few", "many"),
    [
        ("aten.cos.default", torch.cos, (128, 128), (128, 129)),
        ("aten.sum.default", torch.sum, (16384,), (16385,)),
        # The view that is added up is larger than what the program takes and gives.
        ("aten.sum.default", lambda x: x.expand(3000, -1).sum(), (5,), (6,)),
    ],
)
def test_a_program_is_as_large_as_its_largest_tensor(compiles, name, call, few, many):
    small, large = (torch.empty(size, device="neuron") for size in (few, many))
    compiles.clear()
    call(small)
    call(large)
    assert compiles == [(name, True), (name, False)]


def test_a_program_of_8_bit_floats_is_not_compiled_quickly(compiles):
    x = torch.empty(3, device="neuron")
    compiles.clear()
    x.to(torch.float8_e4m3fnuz)
    assert compiles == [("aten.copy_.default", False)]


def test_a_graph_is_not_compiled_quickly(compiles):
    x = torch.empty(7, device="neuron")
    torch.compile(lambda x: x.cos() + 1, backend="neuron")(x)
    assert [quick for name, quick in compiles if not name.startswith("aten.")] == [False]


def test_quick_options_are_the_plugins_own_and_two_more():
    if platforms.resolve().name != "cpu" and not options._quick_options():
        pytest.skip("this plugin's executables do not say how they were compiled")
    client = platforms.client()
    usual, quick = (
        client.compile(PROGRAM, options.compile_options(0, quick)).serialize()
        for quick in (False, True)
    )
    usual, quick = (sorted(options.fields(options.debug_options(e))) for e in (usual, quick))
    added = [content for number, content in quick if (number, content) not in usual]
    assert len(quick) == len(usual) + 2
    for name in (b"xla_cpu_disable_new_fusion_emitters", b"xla_cpu_disable_loop_unrolling"):
        assert any(name in content for content in added)


class Plugin:
    def __init__(self, name, serialized=b""):
        self.platform_name = name
        self.serialized = serialized

    def compile(self, program, options):
        return self

    def serialize(self):
        if not self.serialized:
            raise NotImplementedError("no executable is serializable")
        return self.serialized


@pytest.mark.parametrize(
    "plugin", [Plugin("tpu"), Plugin("cpu"), Plugin("cpu", b"text"), Plugin("cpu", b"\x12")]
)
def test_other_plugins_get_the_usual_options(monkeypatch, plugin):
    monkeypatch.setattr(platforms, "client", lambda: plugin)
    assert options._quick_options.__wrapped__() == b""
