"""Registering rules, and what the verifier says of a rule that breaks its promise."""

import pytest
import torch
from calls import call_of
from interpret import evaluate

from torch_neuronx.lowering import context, graph, hlo, registry, verify
from torch_neuronx.lowering.module import Module
from torch_neuronx.lowering.value import LoweringError, Meta

aten = torch.ops.aten
META = Meta((2, 3), torch.float32, (3, 1))


def test_an_op_has_one_declaration():
    assert registry.rule(aten.add.Tensor) is not None
    with pytest.raises(LoweringError, match="two declarations"):
        registry.lowers(aten.add.Tensor)(lambda out: out)


def test_a_runtime_number_must_be_an_argument():
    with pytest.raises(LoweringError, match="no argument 'beta'"):
        registry.lowers(aten.is_pinned.default, runtime=("beta",))(lambda out: out)


def test_an_overload_packet_is_refused():
    with pytest.raises(LoweringError, match="not an overload"):
        registry.lowers(aten.add)(lambda out: out)


def built(make):
    module = Module("test")
    with module.build():
        return make(module)


def test_a_wrong_shape_names_op_got_and_expected():
    def make(module):
        verify.results(aten.add.Tensor, META, hlo.full((3, 2), 0, torch.float32))

    with pytest.raises(
        LoweringError,
        match=r"the rule of aten.add.Tensor returned float32\[3, 2\], expected float32\[2, 3\]",
    ):
        built(make)


def test_a_wrong_dtype_and_a_wrong_count():
    def make(module):
        value = hlo.full((2, 3), 0, torch.float64)
        with pytest.raises(LoweringError, match=r"float64\[2, 3\] for result 1, expected float32"):
            verify.results("op", (None, META), [None, value])
        with pytest.raises(LoweringError, match="returned 1, expected 2 results"):
            verify.results("op", (META, META), [value])

    built(make)


def test_an_error_inside_a_rule_names_its_op():
    def make(module):
        graph.apply_rule(aten.add.Tensor, META, ["not a value", None], {})

    with pytest.raises(LoweringError, match=r"the rule of aten\.add\.Tensor failed"):
        built(make)


def test_helpers_convert_no_dtype_silently():
    def make(module):
        with pytest.raises(LoweringError, match="convert one of them first"):
            hlo.full((2,), 0, torch.float32) + hlo.full((2,), 0, torch.float64)
        with pytest.raises(LoweringError, match="convert the tensor first"):
            hlo.full((2,), 0, torch.int32) * 0.5

    built(make)


def test_checks_and_random_bits_accumulate_in_the_program():
    def make(module):
        from torch_neuronx.lowering import rng

        context.check(hlo.full((), True, torch.bool), "IndexError", "index {}")
        first = rng.random_bits((5,), 32)
        second = rng.random_bits((3, 3), 64)
        assert (first.dtype, second.dtype) == (torch.uint32, torch.uint64)
        return len(module.program.checks), module.program.rng_used, module.inputs

    assert built(make) == (1, 4 + 8, [("rng",)])


CASTS = [
    (torch.tensor([-1.5, 2.9, 300.0, float("nan")]), torch.bool),
    (torch.tensor([-1.5, 2.9, 300.0]), torch.uint8),
    (torch.tensor([-1.5, 2.9, 1e10]), torch.int64),
    (torch.tensor([0, 2, -1]), torch.bool),
    (torch.tensor([300, -1, 70000]), torch.int8),
    (torch.tensor([1 + 2j, 0j]), torch.float32),
    (torch.tensor([1.5, 2.5]), torch.complex64),
    (torch.tensor([True, False]), torch.float64),
]


@pytest.mark.parametrize(("x", "dtype"), CASTS)
def test_casts_are_those_of_the_cpu(x, dtype):
    assert torch.equal(evaluate(lambda v: hlo.convert(v, dtype), x), x.to(dtype))


def test_call_builder_shares_a_storage_between_views():
    x = torch.zeros(4)
    assert len(call_of(aten.add.Tensor, x[1:], x[:3]).bases) == 1
