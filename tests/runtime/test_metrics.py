"""explain(): what a compile is blamed on. And the policy for ops that run on the host."""

import json
import threading
import warnings
from types import SimpleNamespace as Spec

import pytest
import torch

import torch_neuronx
from torch_neuronx.eager import fallback
from torch_neuronx.runtime import metrics

ADD = torch.ops.aten.add.Tensor


def tensor(*sizes, dtype=torch.float32, strides=None, base=0, view=False):
    dense = torch.empty(sizes, device="meta").stride()
    strides = dense if strides is None else strides
    return Spec(dtype=dtype, sizes=sizes, strides=strides, offset=0, base=base, index=0,
                conj=False, neg=False, requires_offset=view)  # fmt: skip


def call(x, y, alpha=1):
    bases = tuple(Spec(dtype=t.dtype, shape=t.sizes, nbytes=0, initialized=True) for t in (x, y))
    return Spec(op=ADD, args=(x, y, alpha), bases=bases)


def why(*calls):
    events = [metrics.Event("aten::add.Tensor", "compiled", 0.01, 2048, c) for c in calls]
    return [row.why for row in metrics.Explanation(events, {}).rows]


def test_the_first_program_of_an_op_has_nothing_to_differ_from():
    assert why(call(tensor(4), tensor(4))) == ["first program of this op"]


def test_a_new_shape_is_named():
    causes = why(call(tensor(4), tensor(1, base=1)), call(tensor(8), tensor(1, base=1)))
    assert "self: float32[4] -> float32[8]" in causes[1]
    assert "other" not in causes[1]


def test_a_new_dtype_stride_view_and_number_are_named():
    x, y = tensor(4, 4), tensor(1, base=1)
    assert "bfloat16[4, 4]" in why(call(x, y), call(tensor(4, 4, dtype=torch.bfloat16), y))[1]
    assert "strides [1, 4]" in why(call(x, y), call(tensor(4, 4, strides=(1, 4)), y))[1]
    assert "view" in why(call(x, y), call(tensor(4, 4, view=True), y))[1]
    number = Spec(dtype=torch.int64, index=0, wrapped=True, value=2)
    assert why(call(x, y), call(x, y, number))[1] == "alpha: 1 -> int64 number"


def test_reasons_are_made_when_they_are_asked_for():
    """Other facts of an explanation cost nothing, however many programs there are."""

    class Unread:
        op = property(lambda self: pytest.fail("read"))

    event = metrics.Event("aten::add.Tensor", "compiled", 0.01, 2048, Unread())
    assert metrics.Explanation([event], {"aten::add": "why"}).fallbacks == {"aten::add": "why"}


def test_the_nearest_is_looked_for_among_the_latest(monkeypatch):
    """However many programs an op has, the reasons take time by their number, not its square."""
    compared = []

    def differences(new, old, real=metrics._differences):
        compared.append(old)
        return real(new, old)

    monkeypatch.setattr(metrics, "_differences", differences)
    count = 5 * metrics._COMPARED
    causes = why(*(call(tensor(4), tensor(1, base=1), alpha) for alpha in range(count)))
    assert causes[-1] == f"alpha: {count - 2} -> {count - 1}"
    assert len(compared) <= count * (metrics._COMPARED + 1)


def test_arguments_that_share_a_storage_are_named():
    x = tensor(4)
    assert (
        "sharing storage: absent -> self, other" in why(call(x, tensor(4, base=1)), call(x, x))[1]
    )


def test_the_nearest_known_program_is_the_one_compared_with():
    far, near = call(tensor(9, 9), tensor(9, 9, base=1)), call(tensor(4), tensor(2, base=1))
    assert "self: float32[4] -> float32[5]" in why(near, far, call(tensor(5), tensor(2, base=1)))[2]


def test_the_same_key_again_was_forgotten():
    assert why(call(tensor(4), tensor(4)), call(tensor(4), tensor(4)))[1].startswith("the same key")


def test_it_prints_as_a_table_and_as_json():
    events = [metrics.Event("aten::add.Tensor", "disk", 0.0123, 2048, None)]
    explanation = metrics.Explanation(events, {"aten::nonzero": "its shape depends on data"})
    text = str(explanation)
    assert "1 programs (0 memory, 1 disk, 0 compiled)" in text
    assert "aten::add.Tensor  disk  12.3    2" in text
    assert "on the host: aten::nonzero: its shape depends on data" in text
    content = json.loads(explanation.to_json())
    assert content["programs"][0]["tier"] == "disk"
    assert content["fallbacks"] == {"aten::nonzero": "its shape depends on data"}


@pytest.fixture
def fresh_policy(monkeypatch):
    monkeypatch.setattr(metrics, "_fallback_reasons", {})
    monkeypatch.delenv("NEURON_FALLBACK_ENABLED", raising=False)


def test_a_host_run_warns_once_per_op(fresh_policy):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for op in ("aten::nonzero", "aten::nonzero", "aten::unique"):
            fallback.on_fallback(op, "its shape depends on data")
    assert len(caught) == 2
    assert "aten::nonzero runs on the host: its shape depends on data" in str(caught[0].message)


def test_a_host_run_can_be_refused_by_the_environment(fresh_policy, monkeypatch):
    monkeypatch.setenv("NEURON_FALLBACK_ENABLED", "0")
    with pytest.raises(NotImplementedError, match=r"aten::nonzero.*shape.*NEURON_FALLBACK_ENABLED"):
        fallback.on_fallback("aten::nonzero", "its shape depends on data")


def test_no_fallback_as_context_and_decorator(fresh_policy):
    @torch_neuronx.no_fallback()
    def inside():
        fallback.on_fallback("aten::nonzero", "its shape depends on data")

    for _ in range(2):
        with pytest.raises(NotImplementedError, match=r"aten::nonzero.*no_fallback"):
            inside()
    with torch_neuronx.no_fallback():
        with torch_neuronx.no_fallback():
            pass
        with pytest.raises(NotImplementedError):
            fallback.on_fallback("aten::nonzero", "reason")
    with pytest.warns(UserWarning, match="runs on the host"):
        fallback.on_fallback("aten::nonzero", "reason")


def test_no_fallback_holds_for_its_thread_only(fresh_policy):
    raised = []

    def elsewhere():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fallback.on_fallback("aten::nonzero", "reason")
            except NotImplementedError as error:
                raised.append(error)

    with torch_neuronx.no_fallback():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert not raised
