"""What the modes under torch.compile find, and what they say of a call that is right."""

import pytest
import torch

from contract.checks import check
from contract.databases import Operator, Sample, operators

FLOAT = frozenset({torch.float32})


def described(function, *shapes):
    def samples(dtype, requires_grad):
        for shape in shapes:
            yield Sample((torch.randn(shape, dtype=dtype, requires_grad=requires_grad),))

    return Operator("made_up", function, samples, FLOAT, FLOAT)


def found(mode, function, *shapes):
    return check(described(function, *shapes), torch.float32, mode)


@pytest.mark.parametrize("name", ["addmm", "nn.functional.layer_norm", "sort", "as_strided"])
@pytest.mark.parametrize("mode", ["compiled", "compiled_backward", "dynamic"])
def test_operator_is_the_cpus(name, mode):
    outcome = check(operators()[name], torch.float32, mode, limit=3)
    assert outcome.samples == 3
    assert not outcome.failures
    assert not outcome.remarks


@pytest.mark.parametrize("mode", ["compiled", "compiled_backward"])
def test_the_one_wrong_sample_of_several_is_named(mode):
    def wrong_for_vectors(x):
        return x * 2 * (2 if x.dim() == 1 and x.device.type == "neuron" else 1)

    outcome = found(mode, wrong_for_vectors, (2, 2), (3,), ())
    assert outcome.samples == 3
    assert [(number, kind) for number, kind, _ in outcome.failures] == [(1, "value")]


def test_what_tracing_changes_on_the_cpu_too_is_a_remark():
    outcome = found("compiled", lambda x: x + 1 if torch.compiler.is_compiling() else x, (2,))
    assert outcome.verdict == "passed"
    assert [remark.partition(":")[0] for remark in outcome.remarks] == ["PyTorch's own tracing"]


def test_a_graph_break_is_a_remark():
    outcome = found("compiled", lambda x: x + x.sum().item(), (2,), (3,))
    assert outcome.verdict == "passed"
    assert any(remark.startswith("graph break: ") for remark in outcome.remarks)


def test_a_gradient_that_the_cpu_does_not_have_is_not_applicable():
    assert found("compiled_backward", lambda x: x.argmax(), (2,), (3,)).verdict == "skipped"
