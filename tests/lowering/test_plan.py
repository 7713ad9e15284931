"""From a call to a program: inputs, results, returns, and PyTorch's own errors."""

import json
import os
import subprocess
import sys

import pytest
import torch
from calls import call_of

from torch_neuronx.eager import describe
from torch_neuronx.eager.plan import plan
from torch_neuronx.eager.program import Composite, Host, Resize

aten = torch.ops.aten


def launch(op, *args, **kwargs):
    return plan(call_of(op, *args, **kwargs)).program


def test_a_pure_op_reads_its_arguments_and_makes_a_new_tensor():
    program = launch(aten.add.Tensor, torch.zeros(2, 3), torch.zeros(3))
    assert sorted(program.inputs) == [("base", 0), ("base", 1)]
    assert program.results == [("new", torch.float32, (2, 3), (3, 1), (2, 3))]
    assert program.returns == [("result", 0)]


def test_a_number_is_an_input_and_a_default_is_not():
    x = torch.zeros(2)
    assert ("number", 0) in launch(aten.add.Tensor, x, 2.5).inputs
    assert launch(aten.add.Tensor, x, x).inputs == [("base", 0)]
    assert ("number", 0) in launch(aten.add.Tensor, x, x, alpha=3).inputs


def test_an_in_place_op_writes_its_argument_and_returns_it():
    program = launch(aten.add_.Tensor, torch.zeros(2), torch.zeros(2))
    assert program.results == [("write", 0, torch.float32, (2,))]
    assert program.returns == [("arg", 0)]


def test_a_fill_of_a_whole_tensor_does_not_read_it():
    assert launch(aten.fill_.Scalar, torch.zeros(4), 1.0).inputs == [("number", 0)]


def test_a_view_is_read_at_a_run_time_offset():
    program = launch(aten.neg.default, torch.zeros(4, 3)[1])
    assert set(program.inputs) == {("base", 0), ("offset", 0)}


def test_a_channels_last_result_has_its_buffer_in_memory_order():
    x = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    (result,) = launch(aten.neg.default, x).results
    assert result == ("new", torch.float32, (2, 3, 4, 5), x.stride(), (2, 4, 5, 3))


def test_an_out_tensor_of_another_shape_is_resized_first():
    program = launch(aten.mm.out, torch.zeros(2, 3), torch.zeros(3, 4), out=torch.zeros(0))
    assert program == Resize([(2, (2, 4), (4, 1))])


def test_a_list_result_is_returned_as_a_list():
    program = launch(aten._foreach_neg.default, [torch.zeros(2), torch.zeros(3)])
    assert program.returns == [("list", [("result", 0), ("result", 1)])]


def test_a_data_dependent_shape_runs_on_the_host():
    tall, b = torch.zeros(3, 2), torch.zeros(3, 1)
    program = launch(aten.linalg_lstsq.default, tall, b, driver="gelsd")
    assert isinstance(program, Host)
    assert "depends on the rank" in program.reason


def test_a_size_that_depends_on_data_is_a_result_beside_the_room_for_it():
    program = launch(aten._unique2.default, torch.zeros(2, 2), True, True, True)
    flat, counted = torch.int64, (0, 0, (0,))
    assert program.results == [
        ("new", torch.float32, (4,), (1,), (4,), counted),
        ("new", flat, (2, 2), (2, 1), (2, 2)),
        ("new", flat, (4,), (1,), (4,), counted),
        ("counts", 1),
    ]


def test_an_op_without_a_program_runs_on_the_host():
    weight = torch.zeros(16, 32, dtype=torch.int32)
    program = launch(aten._convert_weight_to_int4pack_for_cpu.default, weight, 2)
    assert isinstance(program, Host)
    assert "packs" in program.reason


def test_writing_one_tensor_twice_is_left_to_the_composite_kernel():
    x = torch.zeros(2)
    assert launch(aten._foreach_add_.Scalar, [x, x], 1.0) == Composite()


def test_a_decomposed_op_is_one_program():
    program = launch(aten.huber_loss.default, torch.zeros(3), torch.zeros(3))
    assert program.results == [("new", torch.float32, (), (), ())]


def cpu_error(op, *args, **kwargs):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what is compared
        op(*args, **kwargs)
    return type(caught.value), str(caught.value)


z = torch.zeros(6)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (aten.add.Tensor, (torch.zeros(3), torch.zeros(4))),
        (aten.add_.Tensor, (torch.zeros(3), torch.zeros(4, 3))),
        (aten.add_.Tensor, (torch.zeros(3, dtype=torch.int64), 1.5)),
        (aten.add_.Tensor, (z[1:], z[:-1])),
        (aten.add_.Tensor, (torch.zeros(1).expand(3), 1)),
        (aten.copy_.default, (torch.zeros(3), torch.zeros(2))),
        (aten.mm.default, (torch.zeros(2, 3), torch.zeros(2, 3))),
        (aten.mm.default, (torch.zeros(2, 3), torch.zeros(3, 2, dtype=torch.float64))),
        (aten.mm.out, (torch.zeros(2, 2), torch.zeros(2, 2))),
    ],
)
def test_errors_are_those_of_the_cpu(op, args):
    kwargs = {"out": torch.zeros(2, 2, dtype=torch.float64)} if op is aten.mm.out else {}
    kind, text = cpu_error(op, *args, **kwargs)
    with pytest.raises(kind) as caught:
        launch(op, *args, **kwargs)
    assert str(caught.value) == text


def test_planning_leaves_the_cpu_generator_alone():
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError):
        launch(aten.normal_.default, torch.zeros(1).expand(3))
    assert torch.equal(torch.get_rng_state(), before)


def test_nothing_is_imported_before_the_first_program():
    code = (
        "import json, sys, torch; from torch_neuronx.eager import describe, call, program;"
        "describe(torch.ops.aten.add.Tensor);"
        "print(json.dumps([m for m in ('jaxlib', 'sympy', 'torch._dynamo') if m in sys.modules]))"
    )
    env = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    output = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert json.loads(output.stdout) == []


def test_a_list_op_that_reads_what_it_wrote_keeps_its_order():
    a, b, c = torch.zeros(2), torch.zeros(2), torch.zeros(2)
    assert launch(aten._foreach_add_.List, [a, b], [c, a]) == Composite()
    assert launch(aten._foreach_mul_.List, [a, b], [a, c]).checks == []


def test_parts_of_one_flat_buffer_are_written_one_after_the_other():
    flat = torch.zeros(10)
    program = launch(aten._foreach_zero_.default, [flat[:4], flat[4:]])
    assert [r[:2] for r in program.results] == [("write", 0)]


def test_ops_that_only_change_the_view_are_the_dispatchers():
    for op in (aten.transpose_.default, aten.as_strided_.default, aten._unsafe_view.default):
        assert describe(op).road == "composite"


def test_an_out_tensor_takes_the_strides_that_the_cpu_gives_it():
    x = torch.zeros(2, 3, 4)
    out = torch.zeros(0, dtype=torch.complex64)
    program = launch(aten._fft_r2c.out, x, [1], 0, True, out=out)
    aten._fft_r2c.out(x, [1], 0, True, out=out)
    assert program.targets == [(1, tuple(out.shape), out.stride())]
