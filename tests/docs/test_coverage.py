"""The coverage page: it is current, and the roads on it are those that calls take."""

import re
from pathlib import Path

import pytest
import torch
from contract import page

from torch_neuronx import coverage
from torch_neuronx.eager import describe

PAGE = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text()
aten = torch.ops.aten


def roads():
    return {e.op: e.road for e in coverage.entries()}


def test_the_page_is_current():
    release = re.search(r"dispatcher of torch (\d+\.\d+\.\d+)", PAGE)[1]
    if release != coverage.release():
        pytest.skip(f"the page is about torch {release}")
    assert page.markdown() == PAGE, "run `make docs`"


def test_every_op_has_one_road():
    columns = {road.name: road.columns for road in coverage.ROADS}
    assert len(roads()) == len(coverage.entries())
    for e in coverage.entries():
        assert len(e.details) == len(columns[e.road])


def test_core_ops_stay_on_the_device():
    core = {op for op in coverage.aten_overloads() if torch.Tag.core in op.tags}
    assert core <= roads().keys()
    assert not {op for op in core if roads()[op] in ("host", "none")}


@pytest.mark.parametrize("op", [aten.abs.default, aten.abs_.default, aten.abs.out])
def test_a_rule_is_found_in_the_file_that_declares_it(op):
    assert coverage.entry(op) == coverage.Entry(op, "rule", ("lowering/pointwise.py",))


@pytest.mark.parametrize(
    ("op", "asked", "road"),
    [
        (aten.empty.memory_format, "rule", "kernel"),
        (aten.clone.default, "rule", "composite"),
        (aten.bincount.out, "composite", "composite"),
        (aten.from_file.out, "composite", "host"),
        (aten.quantize_per_tensor.default, "host", "none"),
        (aten._cudnn_rnn.out, "composite", "none"),
        (aten._nnz.default, "host", "none"),
    ],
)
def test_what_the_dispatcher_settles_is_not_asked_of_the_table(op, asked, road):
    assert describe(op).road == asked
    assert coverage.entry(op).road == road


@pytest.mark.filterwarnings("ignore:.* runs on the host")
def test_an_op_without_a_road_is_refused(device):
    for op in (aten._nnz.default, aten.native_norm.default):
        assert coverage.entry(op).road == "none"
        with pytest.raises(NotImplementedError):
            op(torch.ones(2, device=device))
