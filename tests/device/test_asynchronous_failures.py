"""A program that fails after its call: the error names the op and the line that launched it.

The failure is memory: a median sorts a copy of its argument, here one of 256 TiB, which a program
asks for when it runs.
"""

import contextlib
import threading
import weakref

import pytest
import torch
from subprocesses import run

ROWS, COLUMNS = 2**25, 2**20


def fail(x):
    return x.expand(ROWS, COLUMNS).median(dim=0).values


FAIL_LINE = fail.__code__.co_firstlineno + 1


def launched_at(file, line):
    return f"(when running aten.median.dim on neuron, launched at {file}:{line})"


@pytest.fixture
def one():
    yield torch.ones(1, device="neuron")
    torch.neuron.synchronize()  # each test has met its error


def surfaces(act):
    with pytest.raises(torch.OutOfMemoryError, match="Out of memory allocating") as caught:
        act()
    return str(caught.value)


@pytest.mark.parametrize(
    "meet",
    [
        lambda y: torch.neuron.synchronize(),
        lambda y: torch.neuron.current_stream().synchronize(),
        lambda y: torch.neuron.current_stream().record_event().synchronize(),
        lambda y: y.cpu(),
        lambda y: y[3].item(),
        lambda y: (y + 1).tolist(),
        lambda y: torch.arange(3, device="neuron")[y[:2].long()],
    ],
    ids=["device", "stream", "event", "cpu", "item", "consumer", "index"],
)
def test_the_error_names_op_and_line_wherever_it_surfaces(one, meet):
    y = fail(one)
    assert launched_at(__file__, FAIL_LINE) in surfaces(lambda: meet(y))
    with pytest.raises(RuntimeError, match="Out of memory allocating"):
        y.cpu()  # it has no value, however often it is asked
    with contextlib.suppress(RuntimeError):
        torch.neuron.synchronize()  # what was launched upon it failed with it
    torch.neuron.synchronize()


def test_a_launch_that_has_to_wait_keeps_its_line(one):
    slow = torch.full((1024, 1024), 2.0**-10, device="neuron")
    for _ in range(8):
        slow = slow @ slow
    fail(slow[0, :1])
    assert not torch.neuron.current_stream().query()
    assert launched_at(__file__, FAIL_LINE) in surfaces(torch.neuron.synchronize)


def test_the_line_is_that_of_the_thread_that_launched(one):
    def other():
        fail(one)

    for act in (other, lambda: one.expand(ROWS, COLUMNS).median(dim=0)):
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        line = FAIL_LINE if act is other else act.__code__.co_firstlineno
        assert launched_at(__file__, line) in surfaces(torch.neuron.synchronize)


def test_lines_of_code_that_comes_and_goes(one):
    for line in range(1, 40):
        source = "\n" * (line - 1) + "one.expand(ROWS, COLUMNS).median(dim=0)"
        name = f"cell ü {line}"
        exec(compile(source, name, "exec"), {"one": one, "ROWS": ROWS, "COLUMNS": COLUMNS})
        assert launched_at(name, line) in surfaces(torch.neuron.synchronize)


def test_a_line_keeps_no_local_variables(one):
    def launch():
        local = torch.ones(2)
        one.expand(ROWS, COLUMNS).median(dim=0)
        return weakref.ref(local)

    assert launch()() is None
    surfaces(torch.neuron.synchronize)


def test_a_backward_pass_is_named_where_there_is_no_line(one):
    weight = torch.ones(COLUMNS, device="neuron", requires_grad=True)
    product = fail(one) * weight
    surfaces(torch.neuron.synchronize)
    product.backward(torch.ones_like(product))
    message = r"\(when running aten.mul.Tensor on neuron, launched by a backward pass\)"
    with pytest.raises(RuntimeError, match=message):
        torch.neuron.synchronize()


def test_a_blocking_launch_fails_at_its_call():
    code = f"""
    import torch
    one = torch.ones(1, device="neuron")
    try:
        one.expand({ROWS}, {COLUMNS}).median(dim=0)
    except torch.OutOfMemoryError as error:
        print(error)
    torch.neuron.synchronize()
    """
    result = run(code, NEURON_LAUNCH_BLOCKING="1")
    assert result.stdout.strip().endswith("(when running aten.median.dim on neuron)")
