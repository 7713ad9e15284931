"""A few of the operators that `make contract` runs, as everyday tests; and the ledger's form."""

import dataclasses

import pytest
import torch

from contract import ledger
from contract.checks import check
from contract.comparison import Difference, same
from contract.databases import operators
from contract.tolerances import tolerance

SLICE = (
    "add", "cat", "cumsum", "expand", "gather", "index_select", "matmul", "mean",
    "nn.functional.gelu", "transpose",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["forward", "backward"])
@pytest.mark.parametrize("name", SLICE)
def test_operator_is_the_cpus(name, mode):
    outcome = check(operators()[name], torch.float32, mode, limit=3)
    assert outcome.samples
    assert not outcome.failures
    assert not outcome.host


def test_a_ledger_entry_is_about_an_operator():
    assert all(case.op in operators(case.database) for case in ledger.known())


def test_an_entry_of_lists_is_about_every_combination(tmp_path):
    path = tmp_path / "ledger.toml"
    path.write_text(
        '[[difference]]\nop = "add"\ndtype = ["int8", "bool"]\nmode = ["out", "forward"]\n'
        'reason = "why"\n'
    )
    known = ledger.known(path)
    assert set(known.values()) == {"why"}
    assert {(case.dtype, case.mode) for case in known} == {
        ("int8", "out"), ("int8", "forward"), ("bool", "out"), ("bool", "forward"),
    }  # fmt: skip


def test_an_unexpected_pass_is_a_surprise():
    case = ledger.Case("add", "float32", "forward")
    assert ledger.surprise(case, "passed", {case: "known"})
    assert ledger.surprise(case, "value", {})
    assert not ledger.surprise(case, "value", {case: "known"})
    assert not ledger.surprise(case, "passed", {})
    assert not ledger.surprise(case, "passed", {case: "known"}, whole=False)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("value", torch.zeros(2, 3)),
        ("dtype", torch.ones(2, 3, dtype=torch.float64)),
        ("shape", torch.ones(6)),
        ("strides", torch.ones(3, 2).t()),
    ],
)
def test_a_difference_has_a_kind(kind, other):
    want = torch.ones(2, 3)
    with pytest.raises(Difference) as found:
        same(other, want, ())
    assert found.value.kind == kind


@pytest.mark.parametrize(
    ("dtype", "other"), [(torch.float32, torch.float64), (torch.float64, torch.float32)], ids=str
)
def test_another_precision_tells_how_far_roundings_go(dtype, other):
    """Of a sum that cancels, the last digits are lost in any order, but not the first ones."""
    terms = torch.tensor([1e6, 1 / 3, -1e6, 1e-3], dtype=torch.float64)

    def total(order, dtype):
        return sum(terms[order].to(dtype))

    want, got = total([0, 1, 2, 3], dtype), total([3, 0, 1, 2], dtype)
    lost = (want - got).abs().item()
    assert lost > tolerance([dtype], 4)
    same(got, want, terms.to(dtype), exact=lambda: total([0, 1, 2, 3], other))
    wrong = want + 1000 * lost
    with pytest.raises(Difference, match="not close"):
        same(wrong, want, terms.to(dtype), exact=lambda: total([0, 1, 2, 3], other))


def test_a_cpu_that_computes_something_else_is_no_judge():
    """Then the device has to be right."""
    exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
    want = torch.tensor([1.0, 3.0])
    same(exact.float(), want, (), exact=lambda: exact)
    with pytest.raises(Difference, match="not close"):
        same(torch.tensor([1.0, 2.5]), want, (), exact=lambda: exact)


def test_more_terms_allow_more():
    eps = torch.finfo(torch.float32).eps
    assert tolerance([torch.float32], 100) - tolerance([torch.float32], 0) == pytest.approx(
        100 * eps
    )
    assert tolerance([torch.int64], 100) == 0


# Of every other database and mode, what runs in a second or two.
OTHERS = (
    ("op", "nn.functional.conv2d", "channels_last"),
    ("op", "log_softmax", "gradgrad"),
    ("op", "matmul", "jvp"),
    ("op", "nn.functional.grid_sample", "backward_each"),
    ("op", "index_select", "noncontiguous"),
    ("op", "index_select", "vmap"),
    ("op", "cat", "errors"),
    ("op", "add", "out"),
    ("op", "add", "inplace"),
    ("fft", "fft.rfft", "forward"),
    ("refs", "_refs.sigmoid", "forward"),
    ("foreach", "_foreach_add", "inplace"),
    ("hop", "cond.simple", "forward"),
    ("custom_op", "NumpyMulCustomOp", "forward"),
    ("module", "nn.BatchNorm1d", "forward"),
    ("module", "nn.BatchNorm1d", "state_dict"),
    ("optimizer", "Adam", "forward"),
    ("optimizer", "Adam.capturable", "state_dict"),
    ("optimizer", "SGD.differentiable", "backward"),
)


@pytest.mark.parametrize(("database", "name", "mode"), OTHERS)
def test_other_databases_and_modes(database, name, mode):
    outcome = check(operators(database)[name], torch.float32, mode, limit=2)
    assert outcome.samples
    assert not outcome.failures


def test_a_dtype_that_stablehlo_lacks_is_refused():
    outcome = check(operators()["mul"], torch.complex32, "forward", limit=2)
    assert {kind for _, kind, _ in outcome.failures} == {"unsupported"}
    refused = ledger.Case("mul", "complex32", "forward")
    assert not ledger.surprise(refused, "unsupported", {})
    assert ledger.surprise(refused, "error", {})
    assert ledger.surprise(ledger.Case("mul", "float32", "forward"), "unsupported", {})


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_eight_bits_may_differ_by_one_rounding(dtype):
    want = torch.tensor([1.0, 2.0]).to(dtype)
    near, far = (want.float() * (1 + n * torch.finfo(dtype).eps) for n in (1, 2))
    same(near.to(dtype), want, want)
    with pytest.raises(Difference, match="not close"):
        same(far.to(dtype), want, want)


@pytest.mark.parametrize(
    ("name", "dtype", "mode"),
    [("kthvalue", torch.uint8, "vmap"), ("msort", torch.bfloat16, "jvp")],
)
def test_equal_elements_come_in_any_order(name, dtype, mode):
    """In each lane, where the dimension that is ordered is another one; with their tangents."""
    outcome = check(operators()[name], dtype, mode, limit=5)
    assert outcome.samples
    assert not outcome.failures


def test_a_module_whose_weights_differ_is_found():
    """The comparison of modules sees more than shapes."""
    found = operators("module")["nn.Linear"]

    def other(module, x):
        scale = 1 if x.device.type == "cpu" else 2
        return found.function(module, x) * scale

    outcome = check(dataclasses.replace(found, function=other), torch.float32, "forward", limit=1)
    assert outcome.verdict == "value"
