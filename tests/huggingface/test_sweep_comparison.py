"""A wrong result is found, a rounding is not taken for one, and the first wrong module is named."""

import pytest
import torch
from torch import nn

from torch_neuronx.sweep import comparison
from torch_neuronx.sweep.catalog import Architecture
from torch_neuronx.sweep.checks import FAILED, PASSED, WRONG, Run
from torch_neuronx.sweep.roundings import ROUNDINGS, MovedRoundings
from torch_neuronx.sweep.subject import Subject

MODEL = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
ALLOWED = comparison.tolerance(MODEL)
WANT = {"logits": torch.linspace(-1, 1, 12).view(3, 4), "ids": torch.arange(3)}


def found(change, name="logits", judges=lambda: None):
    got = {key: value.clone() for key, value in WANT.items()}
    got[name] = change(got[name])
    return comparison.difference(got, WANT, ALLOWED, judges)


def test_roundings_agree():
    assert not found(lambda x: x * (1 + torch.finfo(torch.float32).eps))
    assert ALLOWED.relative < 1e-5


@pytest.mark.parametrize(
    ("change", "name", "says"),
    [
        (lambda x: x + 1e-3 * (torch.arange(12).view(3, 4) == 5), "logits", "off by 1.00e-03"),
        (lambda x: x.double(), "logits", "dtype"),
        (lambda x: x.view(4, 3), "logits", "shape"),
        (lambda x: x.where(x < 1, torch.nan), "logits", "1 NaN instead of 0"),
        (lambda x: x.where(x < 1, torch.inf), "logits", "infinities"),
        (lambda x: x.flip(0), "ids", "2 of 3 integers"),
    ],
)
def test_differences_are_found(change, name, says):
    assert says in found(change, name)


def test_a_missing_result_is_found():
    assert "other results" in comparison.difference({}, WANT, ALLOWED)


def judged_by(exact, *moved):
    """What the judge says of a device that is off by a thousandth."""
    judges = comparison.Judges(
        {**WANT, "logits": WANT["logits"].double() + exact},
        [{**WANT, "logits": WANT["logits"] + by} for by in moved],
    )
    return found(lambda x: x + 1e-3, judges=lambda: judges)


def test_float64_judges_what_roundings_do_not_explain():
    assert not judged_by(5e-4)  # both are as far from the truth, as after a cancellation
    assert not judged_by(0, 0, 1e-3)  # so is the CPU when its roundings are moved
    assert "from float64 the device is off by 1.00e-03" in judged_by(0, 1e-6)


def test_moved_roundings_break_ties_and_keep_whole_numbers():
    x = torch.full((64,), 1.1)
    with MovedRoundings(seed=0):
        moved, whole, halves = x * 1, torch.ones(64) * 2, x.half() * 1
    assert 0 < int((moved != x).sum()) < 64
    moves = ROUNDINGS + 1  # that of the multiplication
    torch.testing.assert_close(moved, x, rtol=moves * torch.finfo(torch.float32).eps, atol=0)
    assert (whole == 2).all() and halves.dtype is torch.half


def test_moved_roundings_take_any_of_equal_elements():
    x = torch.tensor([3.0, 1.0, 1.0, 1.0, 1.0])
    taken = set()
    for seed in range(20):
        with MovedRoundings(seed):
            values, (first, second) = x.topk(2)
        assert values.tolist() == [3, 1] and first == 0
        taken.add(int(second))
    assert taken == {1, 2, 3, 4}


class Faulty(nn.Module):
    """A thousandth too much on the device, when `where` is "forward"; or in the gradient."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    def forward(self, x):
        if x.device.type == "cpu":
            return x
        if self.where == "forward":
            return x * 1.001
        return x.detach() + (x - x.detach()) * 1.001


def faulty(where):
    def build(_):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), Faulty(where), nn.Linear(8, 2))
        return Subject(model.eval(), {"input": torch.randn(4, 8)})

    return build


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_wrong_model_does_not_pass(where):
    architecture = Architecture("none", "none", "Faulty")
    record = Run(architecture, ("load", "forward", "backward"), faulty(where))()
    assert record["checks"][where] == WRONG
    failure = next(f for f in record["failures"] if f["check"] == where)
    assert (failure["cause"], failure["kind"]) == ("backend", "wrong")
    if where == "forward":
        assert failure["op"] == "1 (Faulty)"
    else:
        assert record["checks"]["forward"] == PASSED


class Traced(nn.Linear):
    """Another result, or none, where it is traced for one of `devices`."""

    def __init__(self, devices, breaks):
        super().__init__(8, 2)
        self.devices, self.breaks = devices, breaks

    def forward(self, x):
        y = super().forward(x)
        if torch.compiler.is_compiling() and x.device.type in self.devices:
            return y.view(-1, 5) if self.breaks else y * 1.001
        return y


@pytest.mark.parametrize("breaks", [False, True], ids=["wrong", "raises"])
@pytest.mark.parametrize("devices", [("neuron",), ("neuron", "cpu")], ids=["device", "everywhere"])
def test_what_pytorchs_tracing_does_alone_is_not_the_backends(devices, breaks):
    def build(_):
        torch.manual_seed(0)
        return Subject(Traced(devices, breaks).eval(), {"x": torch.randn(4, 8)})

    record = Run(Architecture("none", "none", "Traced"), ("load", "compile"), build)()
    (failure,) = record["failures"]
    ours = devices == ("neuron",)
    assert failure["cause"] == ("backend" if ours else "library")
    assert record["checks"]["compile"] == (WRONG if ours and not breaks else FAILED)
    assert breaks or failure["kind"] == ("wrong" if ours else "changed")


def test_a_result_that_tracing_does_not_explain_is_the_backends():
    """Tracing changes this model's result on the CPU too, but to another one."""

    class Twice(Traced):
        def forward(self, x):
            return super().forward(x) * (1.1 if x.device.type == "neuron" and traced() else 1)

    def traced():
        return torch.compiler.is_compiling()

    def build(_):
        torch.manual_seed(0)
        return Subject(Twice(("neuron", "cpu"), False).eval(), {"x": torch.randn(4, 8)})

    record = Run(Architecture("none", "none", "Twice"), ("load", "compile"), build)()
    assert record["checks"]["compile"] == WRONG
    assert record["failures"][0]["cause"] == "backend"


def test_a_model_that_fails_on_the_cpu_is_named_and_does_not_pass():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("no such window")

    record = Run(
        Architecture("none", "none", "Broken"), build=lambda _: Subject(Broken(), {"x": 1})
    )()
    assert record["checks"] == {}
    (failure,) = record["failures"]
    assert (failure["check"], failure["cause"]) == ("cpu", "configuration")
    assert failure["message"] == "no such window"


def test_nothing_but_nan_is_nothing_to_compare():
    class Nothing(nn.Linear):
        def forward(self, x):
            return super().forward(x) * torch.nan

    subject = Subject(Nothing(2, 2), {"x": torch.ones(1, 2)})
    record = Run(Architecture("none", "none", "Nothing"), build=lambda _: subject)()
    assert "not finite" in record["failures"][0]["message"]
