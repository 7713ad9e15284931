"""Sixty of the programs that `make fuzz-ops` runs, always the same; and the fuzzer's own rules."""

import pytest
import torch

from fuzz import compiled, eager, memory
from fuzz.comparison import Mismatch
from fuzz.programs import Program, Statement, generate
from fuzz.shrink import shrink

BLOCK = 10


@pytest.fixture(autouse=True)
def _flushed():
    """The device's compiler takes denormal numbers for zero: so does the CPU here."""
    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


@pytest.mark.parametrize("first", range(0, 60, BLOCK))
def test_each_statement_agrees_with_cpu(first):
    for seed in range(first, first + BLOCK):
        eager.run(generate(seed))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_compiled_program_agrees_with_cpu(seed):
    compiled.run(generate(seed))


def test_a_seed_is_a_program():
    assert str(generate(7)) == str(generate(7))
    assert str(generate(7)) != str(generate(8))


def program(*lines):
    statements = []
    for line in lines:
        results = (line.split(" = ")[0],) if " = " in line else ()
        statements.append(Statement(results, line, "" if "torch.tensor" in line else "op"))
    return Program(0, tuple(statements))


# The device's half of the line is wrong by intent.
WRONG = program(
    "t0 = torch.tensor([1.0, 2.0], device=device)",
    "t1 = torch.tensor([3.0], device=device)",
    "t2 = t0 + 1",
    "t3 = t2 * (2.001 if t0.device.type == 'neuron' else 2)",
    "t4 = t3 + t1",
)


def test_a_wrong_number_is_found_where_it_arises():
    with pytest.raises(Mismatch, match="t3") as found:
        eager.run(WRONG)
    assert found.value.statement.source.startswith("t3")
    with pytest.raises(Mismatch, match="t3"):
        compiled.run(WRONG)


def test_a_failing_program_shrinks_to_what_it_needs():
    assert [s.results[0] for s in shrink(WRONG, eager.run).statements] == ["t0", "t2", "t3"]


def test_wrong_sharing_and_wrong_strides_are_found():
    for line, kind in (
        ("t1 = t0[:] if t0.device.type == 'cpu' else t0.clone()", "aliasing"),
        ("t1 = t0.clone() if t0.device.type == 'cpu' else t0.t().contiguous().t()", "strides"),
        ("t1 = t0.clone() if t0.device.type == 'cpu' else t0.double()", "dtype"),
    ):
        with pytest.raises(Mismatch) as found:
            eager.run(program("t0 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)", line))
        assert found.value.kind == kind


def test_a_write_may_not_read_what_it_overwrites():
    x = torch.arange(6)
    assert memory.may_write(x[:3], [x[3:], x[:3]])
    assert not memory.may_write(x[:3], [x[1:4]])
    assert not memory.may_write(x.expand(2, 6), [])
