"""Programs that call PyTorch's CPU kernels: across processes, threads, and without the ability."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest
import torch
from pjrt_programs import find_plugins

import torch_neuronx
from torch_neuronx.runtime import platforms

linalg = torch.linalg

PROGRAM = """
    import json, sys, warnings
    import torch, torch_neuronx
    from torch_neuronx.runtime import cache, platforms
    warnings.simplefilter("ignore")
    a = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    for fn in (torch.linalg.qr, torch.linalg.eigh, torch.linalg.svd):
        for got, want in zip(fn(a.to("neuron")), fn(a)):
            torch.testing.assert_close(got.cpu(), want)
    try:
        torch.linalg.svd((a * torch.nan).to("neuron"))
    except torch.linalg.LinAlgError as error:
        message = str(error)
    host = torch_neuronx.get_fallback_ops()
    cache.flush()
    print(json.dumps({"jaxlib": "jaxlib" in sys.modules, "host": host, "message": message,
                      "kernels": platforms.runs_kernels(),
                      "compiled": torch_neuronx.cache_info().requests["compiled"]}))
"""


def run(folder, **environment):
    environment = {"TORCH_NEURONX_NEFF_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expected_message():
    with pytest.raises(linalg.LinAlgError) as error:
        linalg.svd(torch.full((3, 3), torch.nan))
    return str(error.value)


def test_a_second_process_runs_kernels_without_lowering(tmp_path):
    first, second = run(tmp_path), run(tmp_path)
    assert first["compiled"] > 0
    assert first["kernels"] and second["kernels"]
    assert not first["host"] and not second["host"]
    assert second["compiled"] == 0
    assert not second["jaxlib"]
    assert first["message"] == second["message"] == expected_message()


@pytest.mark.parametrize("plugin", find_plugins(), ids=lambda path: path.parent.name)
def test_every_plugin_runs_kernels(tmp_path, plugin):
    result = run(tmp_path, TORCH_NEURONX_PLATFORM=str(plugin))
    assert result["kernels"]
    assert not result["host"]


# A plugin that is another one without its extensions, FFI among them.
BARE_PLUGIN = """
    #include <dlfcn.h>
    #include <string.h>
    #include "pjrt_c_api.h"

    const PJRT_Api* GetPjrtApi(void) {
      static PJRT_Api bare;
      void* library = dlopen("%s", RTLD_NOW | RTLD_LOCAL);
      const PJRT_Api* (*whole)(void) = (const PJRT_Api* (*)(void))dlsym(library, "GetPjrtApi");
      size_t size = whole()->struct_size;
      memcpy(&bare, whole(), size < sizeof(bare) ? size : sizeof(bare));
      bare.struct_size = size < sizeof(bare) ? size : sizeof(bare);
      bare.extension_start = 0;
      return &bare;
    }
"""


@pytest.fixture
def bare_plugin(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("makes a plugin of its own, which takes a C compiler")
    import xla_plugins

    (package,) = xla_plugins.__path__
    source, library = tmp_path / "bare.c", tmp_path / "bare.so"
    source.write_text(textwrap.dedent(BARE_PLUGIN) % platforms.client().plugin_path)
    include = f"{package}/xla_cpu_pjrt/include"
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-I{include}", source, "-o", library], check=True
    )
    return library


def test_the_host_serves_where_programs_cannot_call_kernels(tmp_path, bare_plugin):
    result = run(tmp_path, TORCH_NEURONX_PLATFORM=str(bare_plugin))
    assert not result["kernels"]
    assert set(result["host"]) >= {"aten::linalg_qr", "aten::_linalg_svd"}
    assert result["message"] == expected_message()


def test_the_capability_is_part_of_the_key(monkeypatch):
    from torch_neuronx.lowering import flags

    able = flags.lowering_flags()
    monkeypatch.setattr(platforms, "runs_kernels", lambda: False)
    assert flags.lowering_flags() != able


def test_many_threads_run_kernels_at_once():
    """Each launches from a thread of its own, while kernels use threads of PyTorch's."""
    import concurrent.futures

    a = torch.randn(40, 24, 24, generator=torch.Generator().manual_seed(0))
    want = linalg.eigvalsh(a + a.mT)

    def solve(i):
        x = a[i].to("neuron")
        return linalg.eigvalsh(x + x.mT).cpu()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = torch.stack(list(pool.map(solve, range(len(a)))))
    # Eigenvalues of a symmetric matrix are as exact as its norm, below 20 here.
    torch.testing.assert_close(got, want, rtol=0, atol=20 * 24 * torch.finfo(a.dtype).eps)


def test_kernels_keep_to_the_number_of_threads():
    before, x = torch.get_num_threads(), torch.randn(8, 8).to("neuron")
    try:
        for count in (1, 2, 1):
            torch.set_num_threads(count)
            linalg.qr(x)[0].cpu()
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)


def test_failures_are_told_apart():
    """Two programs that fail at the same time raise what was wrong with each."""
    import concurrent.futures

    def factor(order):
        a = torch.eye(9)
        a[order, order] = -1
        with pytest.raises(linalg.LinAlgError) as error:
            torch.cholesky(a.to("neuron"))
        return f"order {order + 1} " in str(error.value)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(factor, list(range(9)) * 4))
    assert "aten::cholesky" not in torch_neuronx.get_fallback_ops()
