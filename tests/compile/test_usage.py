"""torch.compile(backend="neuron") in the ways that PyTorch's documentation shows."""

import copy
import subprocess
import sys
import warnings

import pytest
import torch
from agreement import on, random, same
from graphs import compiled, graph_rows
from torch import nn
from torch._dynamo.utils import counters

import torch_neuronx


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def test_the_backend_is_found_by_its_name_alone():
    program = (
        "import torch, sys\n"
        "assert 'neuron' in torch.compiler.list_backends()\n"
        "f = torch.compile(lambda x: x.sin() + 1, backend='neuron', fullgraph=True)\n"
        "x = torch.ones(3)\n"
        "torch.testing.assert_close(f(x.to('neuron')).cpu(), x.sin() + 1)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_module_and_a_function_and_a_method():
    model, x = mlp(), random(3, 4)
    want = model(x)
    model.to("neuron")
    same(compiled(model, fullgraph=True)(on("neuron", x)), want)
    same(compiled(lambda y: model(y), fullgraph=True)(on("neuron", x)), want)


def test_a_module_compiled_in_place():
    class Scaled(nn.Module):
        def forward(self, x):
            return x * 2

    model, x = Scaled(), random(3)
    model.compile(backend="neuron", fullgraph=True)
    since = len(torch_neuronx.explain().rows)
    same(model(on("neuron", x)), x * 2)
    assert len(graph_rows(since)) == 1


def test_as_a_decorator():
    @torch.compile(backend="neuron", fullgraph=True)
    def scaled(x, by=2.0):
        return x * by

    x = random(5)
    same(scaled(on("neuron", x)), x * 2)
    same(scaled(on("neuron", x), by=3.0), x * 3)


def test_a_compiled_part_of_an_eager_model():
    model, x = mlp(), random(3, 4)
    want = model(x)
    model.to("neuron")
    model[0] = compiled(model[0])
    same(model(on("neuron", x)), want)


def test_a_graph_break_splits_the_function_and_keeps_its_order(capsys):
    def talks(x):
        y = x * 2
        torch._dynamo.graph_break()
        print("between")
        return y + 1

    x = random(4)
    same(compiled(talks)(on("neuron", x)), x * 2 + 1)
    assert capsys.readouterr().out == "between\n"
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(talks, fullgraph=True)(on("neuron", x))


def test_reading_a_number_in_the_middle():
    def normalised(x):
        return x / x.sum().item()

    x = random(4).abs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(compiled(normalised)(on("neuron", x)), normalised(x))


def test_data_dependent_shapes_break_the_graph_and_say_why():
    x = torch.tensor([1.0, -1.0, 2.0])

    def positive(x):
        return x[x > 0] * 2

    same(compiled(positive)(on("neuron", x)), positive(x))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="depends on the data"):
        compiled(positive, fullgraph=True)(on("neuron", x))


def test_stances():
    function = compiled(lambda x: x + 1)
    x = torch.ones(3, device="neuron")
    with torch.compiler.set_stance("force_eager"):
        before = len(graph_rows())
        same(function(x), torch.full((3,), 2.0))
        assert len(graph_rows()) == before
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError):
        function(x)
    same(function(x), torch.full((3,), 2.0))


def test_disabled_functions_run_eagerly():
    @torch.compiler.disable
    def eager(x):
        assert not torch.compiler.is_compiling()
        return x.flip(0)

    x = random(4)
    same(compiled(lambda x: eager(x + 1) * 2)(on("neuron", x)), (x + 1).flip(0) * 2)


def test_another_mode_warns_once_and_acts_as_the_default():
    x = torch.ones(2, device="neuron")
    with pytest.warns(UserWarning, match="mode='reduce-overhead' acts as 'default'"):
        same(compiled(lambda x: x + 1, mode="reduce-overhead")(x), torch.full((2,), 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(compiled(lambda x: x + 2, mode="reduce-overhead")(x), torch.full((2,), 3.0))


def test_the_model_name_names_graphs():
    since = len(torch_neuronx.explain().rows)
    x = torch.ones(2, device="neuron")
    compiled(lambda x: x + 1, options={"model_name": "first"})(x)
    torch_neuronx.neuron_dynamo_backend.set_model_name("second")
    compiled(lambda x: x + 2)(x)
    compiled(lambda x: x + 3)(x)
    names = [row.op.split(" ")[0] for row in graph_rows(since)]
    assert names == ["first", "second", "<lambda>"]


def test_a_parameter_seen_through_a_view_and_the_outputs_device():
    weight = nn.Parameter(random(6).to("neuron:0"))
    got = compiled(lambda: weight.view(2, 3) * 2, fullgraph=True)()
    assert got.device == torch.device("neuron:0")
    same(got, weight.detach().cpu().view(2, 3) * 2)


def test_a_copy_of_a_compiled_model_and_its_state():
    model = compiled(mlp().to("neuron"))
    x = on("neuron", random(3, 4))
    want = model(x).cpu()
    same(copy.deepcopy(model)(x), want)
    other = compiled(mlp().to("neuron"))
    other.load_state_dict(model.state_dict())
    same(other(x), want)


def test_an_exported_program_takes_the_same_path():
    model, x = mlp(), random(3, 4)
    want = model(x)
    exported = torch.export.export(model.to("neuron"), (on("neuron", x),))
    same(compiled(exported.module(), fullgraph=True)(on("neuron", x)), want)


def test_inputs_that_are_views_expanded_or_unwritten():
    def added(a, b):
        return a * 2 + b

    function = compiled(added, fullgraph=True)
    base = random(6, 4)
    ours = on("neuron", base)
    for view in (lambda t: t.t(), lambda t: t[1:5:2, 1:3], lambda t: t[:1].expand(3, 4)):
        same(function(view(ours), view(ours)), added(view(base), view(base)))
    same(function(torch.empty(3, device="neuron"), torch.ones(3, device="neuron")), torch.ones(3))


def test_outputs_that_alias_inputs_and_each_other():
    def views(x):
        y = x + 1
        return x.t(), x[0], y, y.view(-1), y.t()

    x = random(3, 4)
    ours = on("neuron", x)
    got = compiled(views, fullgraph=True)(ours)
    same(got, views(x))
    assert got[0].data_ptr() == ours.data_ptr()
    assert got[2].data_ptr() == got[3].data_ptr() == got[4].data_ptr()
    got[2].add_(1)
    same(got[3], views(x)[3] + 1)


def test_random_numbers_are_those_of_eager():
    def drawn():
        noise = torch.randn(5, device="neuron")
        kept = nn.functional.dropout(torch.ones(64, device="neuron"), 0.5)
        return (
            noise,
            kept,
            torch.randint(100, (7,), device="neuron"),
            torch.rand(3, device="neuron"),
        )

    torch.manual_seed(7)
    want = [*drawn(), *drawn()]
    function = compiled(drawn, fullgraph=True)
    torch.manual_seed(7)
    got = [*function(), *function()]
    same(got, [w.cpu() for w in want])


def test_autocast_inside_and_outside_the_graph():
    model, x = mlp().to("neuron"), on("neuron", random(3, 4))

    def inside(x):
        with torch.autocast("neuron", torch.bfloat16):
            return model(x)

    want = inside(x)
    assert want.dtype == torch.bfloat16
    same(compiled(inside, fullgraph=True)(x), want.cpu())
    with torch.autocast("neuron", torch.bfloat16):
        same(compiled(model, fullgraph=True)(x), want.cpu())


def test_a_second_call_of_the_same_shapes_traces_and_compiles_nothing():
    function = compiled(lambda x: (x @ x.T).softmax(-1))
    x = torch.ones(3, 4, device="neuron")
    function(x)
    rows, graphs = len(torch_neuronx.explain().rows), counters["stats"]["unique_graphs"]
    function(x + 1)
    assert [r.op for r in torch_neuronx.explain().rows[rows:] if r.nodes] == []
    assert counters["stats"]["unique_graphs"] == graphs


def test_dynamo_knows_the_device_and_its_numbers():
    from torch._dynamo.device_interface import get_interface_for_device

    compiled(lambda x: x + 1)(torch.ones(1, device="neuron"))
    for name in ("neuron", "neuron:0"):
        interface = get_interface_for_device(name)
        assert interface.device_count() == torch.neuron.device_count()
        assert interface.is_bf16_supported()
        assert interface.current_device() == torch.neuron.current_device()
    assert get_interface_for_device("cpu").is_available()  # PyTorch's own are registered too
