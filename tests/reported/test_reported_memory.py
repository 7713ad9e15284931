"""Reported failures of memory and of errors on the way (rows 66 to 74)."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from agreement import agree_by_device as agree
from agreement import on, ours, random

import torch_neuronx

DEVICE = "neuron"


def test_66_more_than_two_gigabytes():
    x = torch.zeros(2**31 + 8, dtype=torch.uint8, device=DEVICE)
    x[-1] = 7
    assert x[-1].item() == 7
    assert x[0].item() == 0


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def test_67_memory_returns():
    def cycle():
        x = torch.ones(25_000_000, device=DEVICE)
        torch.neuron.synchronize()
        del x

    cycle()
    allocated, resident = torch.neuron.memory_allocated(), resident_bytes()
    for _ in range(100):
        cycle()
    assert torch.neuron.memory_allocated() == allocated
    assert resident_bytes() < resident + 200e6


def test_68_out_of_memory():
    with pytest.raises(torch.OutOfMemoryError, match=r" out of memory\.") as caught:
        torch.ones(2**46, dtype=torch.uint8, device=DEVICE)
    assert len(caught.value.args) == 1
    assert torch.ones(2, device=DEVICE).sum().item() == 2


def test_69_an_operator_without_a_program_leaves_the_device_usable():
    library = torch.library.Library("reported", "FRAGMENT")
    library.define("nothing(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="reported::nothing"):
        torch.ops.reported.nothing(torch.ones(2, device=DEVICE))
    assert torch.ones(2, device=DEVICE).sum().item() == 2


def compiles():
    return len(torch_neuronx.explain().rows)


def make_step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
    ).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    forward = ours(model)

    def step(x):
        loss = forward(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def test_70_saving_compiles_nothing(tmp_path):
    model, step = make_step()
    x = on(DEVICE, random(8, 64))
    for _ in range(3):
        step(x)
    before = compiles()
    torch.save(model.state_dict(), tmp_path / "model.pt")
    for _ in range(10):
        step(x)
    assert compiles() == before
    again = torch.load(tmp_path / "model.pt", weights_only=True)
    assert all(value.device.type == "neuron" for value in again.values())


def test_70_a_short_last_batch_is_one_more_shape():
    _, step = make_step()
    for _ in range(2):
        step(on(DEVICE, random(8, 64)))
    graphs = len(torch.neuron.get_dynamo_metrics())
    step(on(DEVICE, random(5, 64)))
    assert len(torch.neuron.get_dynamo_metrics()) - graphs <= 2  # forward and backward
    before = compiles()
    step(on(DEVICE, random(8, 64)))
    step(on(DEVICE, random(5, 64)))
    assert compiles() == before


def test_70_padded_lengths_share_their_programs():
    _, step = make_step()
    for length in (1, 2):
        step(F.pad(random(8, length), (0, 64 - length)).to(DEVICE))
    before = compiles()
    for length in range(3, 65):
        step(F.pad(random(8, length), (0, 64 - length)).to(DEVICE))
    assert compiles() == before


def test_71_a_second_process_compiles_nothing(tmp_path):
    script = (
        "import torch, torch_neuronx\n"
        "x = torch.randn(7, 5, device='neuron', requires_grad=True)\n"
        "(x @ x.t()).softmax(-1).sum().backward()\n"
        "x.grad.cpu()\n"
        "import sys\n"
        "rows = torch_neuronx.explain().rows\n"
        "print(sum(r.tier == 'compiled' for r in rows), 'jaxlib' in sys.modules)\n"
    )
    import os

    environment = {**os.environ, "TORCH_NEURONX_NEFF_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    first, second = (run.stdout.split() for run in runs)
    assert int(first[0]) > 3
    assert second == ["0", "False"]


def test_72_printing_inside_forward(capsys):
    class Model(torch.nn.Module):
        def forward(self, x):
            print(x.sum().item())
            return x * 2

    agree(lambda device: Model()(on(device, random(3))))
    cpu, device = capsys.readouterr().out.split()
    assert float(cpu) == pytest.approx(float(device), rel=1e-6)


def test_73_outputs_keep_the_device_index():
    p = torch.nn.Parameter(on("neuron:0", random(4, 4)))
    assert ours(lambda: p.view(16) + 1)().device == torch.device("neuron:0")


def test_74_import_torch_alone():
    script = (
        "import torch\n"
        "x = torch.zeros(2, device='neuron')\n"
        "a, b = torch.Stream('neuron'), torch.Stream('neuron')\n"
        "assert a.stream_id != b.stream_id\n"
        "y = torch.ones(2, requires_grad=True)\n"
        "(y * 2).sum().backward()\n"
        "assert y.grad.tolist() == [2, 2]\n"
        "print(x.tolist())\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[0.0, 0.0]"
