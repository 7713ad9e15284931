"""What is refused, in which words, and what options change."""

import dataclasses

import pytest
import torch
from agreement import on, random, same
from graphs import compiled
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

from torch_neuronx.lowering import registry


def eigenvalues(x):
    return torch.linalg.eigh(x @ x.T)[0] + 1


@pytest.fixture
def _no_program_for_eigh(monkeypatch):
    # Eager mode keeps the road and the program that it has found, for this test and later ones.
    eigenvalues(on("neuron", random(3, 3)))
    monkeypatch.delitem(registry._rules, torch.ops.aten._linalg_eigh.default)


@pytest.mark.usefixtures("_no_program_for_eigh")
def test_an_op_without_a_program_is_refused_by_name_reason_and_line():
    x = on("neuron", random(3, 3))
    with pytest.raises(BackendCompilerFailed) as refused:
        compiled(eigenvalues)(x)
    message = str(refused.value)
    assert "aten._linalg_eigh.default has no lowering" in message
    assert "test_failure_policy.py" in message and "torch.linalg.eigh(x @ x.T)" in message
    same(x + 1, x.cpu() + 1)  # eager is usable


@pytest.mark.usefixtures("_no_program_for_eigh")
@pytest.mark.parametrize("how", ["option", "variable"])
def test_fallback_execution_runs_the_graph_eagerly_with_a_warning(how, monkeypatch):
    x = random(3, 3)
    options = {"fallback_execution": True} if how == "option" else None
    if how == "variable":
        monkeypatch.setenv("TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION", "0")
    with pytest.warns(UserWarning, match="runs eagerly, op by op: aten._linalg_eigh"):
        got = compiled(eigenvalues, options=options)(on("neuron", x))
    same(got, eigenvalues(x), atol=1e-5, rtol=1e-5)


def test_fallback_execution_of_a_part_of_a_graph(monkeypatch):
    """The check of the factorisation cuts the graph; what is after it has one result."""
    rule = registry.rule(torch.ops.aten._linalg_eigh.default)

    def refuse(*_, **__):
        raise NotImplementedError("not today")

    monkeypatch.setitem(registry._rules, rule.op, dataclasses.replace(rule, function=refuse))

    def solved(x):
        return eigenvalues(torch.linalg.solve(x + 3 * torch.eye(3, device=x.device), x))

    x = random(3, 3)
    with pytest.warns(UserWarning, match="runs eagerly, op by op: .*not today"):
        got = compiled(solved, options={"fallback_execution": True})(on("neuron", x))
    same(got, solved(x), atol=1e-4, rtol=1e-4)


def test_an_index_out_of_range_raises_and_leaves_the_process_usable():
    table, index = random(4, 2), torch.tensor([0, 9])
    function = compiled(lambda t, i: nn.functional.embedding(i, t) + 1)
    with pytest.raises(IndexError, match="index out of range in self"):
        function(on("neuron", table), on("neuron", index))
    same(function(on("neuron", table), on("neuron", index % 4)), table[index % 4] + 1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"speed": 11}, ValueError, "no option 'speed', only fallback_execution and model_name"),
        ({"fallback_execution": "yes"}, TypeError, "takes a bool, got 'yes'"),
        ({"model_name": 3}, TypeError, "takes a str, got 3"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(BackendCompilerFailed, match=message) as refused:
        compiled(lambda x: x + 1, options=options)(torch.ones(1, device="neuron"))
    assert isinstance(refused.value.inner_exception, error)


def test_a_model_on_the_cpu_is_refused():
    with pytest.raises(BackendCompilerFailed, match=r"Linear .* are on cpu: move them"):
        compiled(nn.Linear(2, 2))(torch.ones(1, 2))


def test_a_part_without_neuron_tensors_runs_where_it_is():
    def on_the_host(x):
        return x * 2

    with pytest.warns(UserWarning, match="has no tensor on the neuron device, only on cpu"):
        same(compiled(on_the_host)(torch.ones(2)), torch.full((2,), 2.0))


def test_inductor_says_in_one_sentence_what_to_use():
    with pytest.raises(Exception, match="'inductor' has no code for neuron tensors: use torch"):
        torch.compile(lambda x: x + 1)(torch.ones(2, device="neuron"))
    same(torch.compile(lambda x: x + 1, backend="inductor")(torch.ones(2)), torch.full((2,), 2.0))


def test_retained_graphs_run_backward_twice():
    x = on("neuron", random(3, 4)).requires_grad_()
    loss = compiled(lambda x: (x.sin() * x).sum())(x)
    loss.backward(retain_graph=True)
    once = x.grad.cpu().clone()
    loss.backward()
    same(x.grad, once * 2)


def test_a_fake_tensor_has_no_number():
    """Python asks it for one while PyTorch makes an index of a list of tensors; as on the CPU."""

    def program(x, place):
        x = x.clone()
        x[[place[0], place[1]], [place[1], place[0]]] = 0
        return x

    for device, backend in (("cpu", "aot_eager"), ("neuron", "neuron")):
        x, place = torch.ones(4, 4, device=device), torch.tensor([0, 2], device=device)
        with pytest.raises(RuntimeError, match="its data is not allocated yet"):
            torch.compile(program, backend=backend)(x, place)


def test_tensors_of_two_devices():
    with pytest.raises(RuntimeError, match="same device"):
        compiled(lambda a, b: a + b)(
            torch.ones(2, device="neuron:0"), torch.ones(2, device="neuron:1")
        )
