"""The executable cache between real processes, with the real compiler."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import torch, torch_neuronx, json, sys
    from torch_neuronx.runtime import cache
    x = torch.arange(12.0).view(3, 4)
    y = x.to("neuron")
    z = ((y @ y.t()).relu() + 1.5).sum(0)
    torch.testing.assert_close(z.cpu(), ((x @ x.t()).relu() + 1.5).sum(0))
    y[1:, ::2] = 7
    y.mul_(0.5)
    x[1:, ::2] = 7
    torch.testing.assert_close(y.cpu(), x * 0.5)
    cache.flush()
    info = torch_neuronx.cache_info()
    print(json.dumps(info.requests | {"jaxlib": "jaxlib" in sys.modules,
                                      "disk": info.executables_on_disk}))
"""


def start(folder, code=PROGRAM, **environment):
    environment = {"TORCH_NEURONX_NEFF_CACHE_DIR": str(folder), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(out), errors


def run(folder, code=PROGRAM, **environment):
    return finish(start(folder, code, **environment))


def test_a_second_process_compiles_nothing_and_needs_no_compiler(cache_dir):
    first, _ = run(cache_dir)
    assert first["compiled"] > 0
    second, _ = run(cache_dir)
    assert second["compiled"] == 0
    assert second["disk"] > 0
    assert not second["jaxlib"]


def test_a_second_process_compiles_no_sort(cache_dir):
    sorts = """
        import torch, torch_neuronx, json
        x = torch.arange(9.0).to("neuron")
        for f in (torch.sort, torch.unique, torch.median, lambda x: torch.topk(x, 2)):
            f(x)
            torch.neuron.synchronize()
        print(json.dumps(torch_neuronx.cache_info().requests))
    """
    first, _ = run(cache_dir, sorts)
    assert first["compiled"] == 4
    second, _ = run(cache_dir, sorts)
    assert second["disk"] == 4


def test_processes_that_fill_one_folder_at_once_are_all_right(cache_dir):
    processes = [start(cache_dir) for _ in range(3)]
    for process in processes:
        finish(process)
    assert run(cache_dir)[0]["compiled"] == 0


@pytest.mark.parametrize("keep", [0.5, 0.0])
def test_every_entry_damaged(cache_dir, keep):
    run(cache_dir)
    for path in cache_dir.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            path.write_bytes(data[: int(len(data) * keep)])
    run(cache_dir)
    assert run(cache_dir)[0]["compiled"] == 0


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path):
    (tmp_path / "file").write_text("")
    result, errors = run(tmp_path / "file" / "cache")
    assert result["compiled"] > 0
    assert result["disk"] == 0
    assert errors.count("cannot be written") == 1


def test_killed_while_writing(cache_dir):
    for delay in (0.0, 0.05, 0.2):
        process = start(
            cache_dir,
            f"""
            import os, signal, threading, time, torch
            x = torch.ones(3, 4, device="neuron")
            threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGKILL)).start()
            for n in range(1, 1000):
                (torch.ones(n, device="neuron") * 2).cpu()
            """,
        )
        process.communicate(timeout=300)
        assert process.returncode == -9
    run(cache_dir)
    assert run(cache_dir)[0]["compiled"] == 0
