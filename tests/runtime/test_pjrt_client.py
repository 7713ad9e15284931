"""Opening a plugin, compiling and counting memory in the PJRT layer (csrc/pjrt).

On every CPU plugin, as test_pjrt.py, and on files that are no plugin or one of another version.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from pjrt_programs import (
    ADD,
    ADD_IN_PLACE,
    HUGE,
    MATRIX,
    PORTABLE,
    find_plugins,
    get,
    matrix,
    put,
    run,
)

from torch_neuronx import _C


class TestOpen:
    def test_there_is_a_plugin(self):
        assert find_plugins()

    def test_describes_the_platform(self, client, plugin):
        assert client.platform_name == "cpu"
        assert client.platform_version
        assert client.plugin_path == plugin
        assert client.api_version[0] == 0
        assert client.device_count == 2
        assert client.host_memory
        assert "ffi" in client.extensions
        version = client.attributes["stablehlo_current_version"]
        assert all(part.isdigit() for part in version.split(".")) and version.count(".") == 2

    def test_device_count_is_an_option(self, plugin):
        assert _C.Client.open(plugin, {"cpu_device_count": 3}).device_count == 3

    def test_two_clients_at_once(self, plugin, client):
        other = _C.Client.open(plugin)
        assert torch.equal(get(put(other, matrix(1))), get(put(client, matrix(1))))

    def test_missing_file(self):
        with pytest.raises(
            RuntimeError, match=r"'/no/such\.so' does not exist; set TORCH_NEURONX_"
        ):
            _C.Client.open("/no/such.so")

    def test_not_a_library(self, tmp_path):
        path = tmp_path / "plugin.so"
        path.write_text("not a library")
        with pytest.raises(RuntimeError, match="cannot be loaded as a PJRT plugin"):
            _C.Client.open(str(path))

    def test_library_without_the_entry_point(self):
        library = next((Path(torch.__file__).parent / "lib").glob("libc10.*"))
        with pytest.raises(RuntimeError, match="is not a PJRT plugin: it has no function GetPjrt"):
            _C.Client.open(str(library))

    @pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
    @pytest.mark.parametrize(
        ("major", "message"),
        [(7, r"version 7\.1 of the PJRT API; install one of major version 0"), (0, "is too old")],
    )
    def test_unsupported_version(self, tmp_path, major, message):
        source = tmp_path / "plugin.c"
        source.write_text(f"""
            #include <stddef.h>
            struct version {{ size_t size; void *extensions; int major, minor; }};
            struct api {{ size_t size; void *extensions; struct version version; }};
            static struct api api = {{sizeof api, 0, {{sizeof(struct version), 0, {major}, 1}}}};
            const void *GetPjrtApi(void) {{ return &api; }}
        """)
        library = tmp_path / "plugin.so"
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
        with pytest.raises(RuntimeError, match=message):
            _C.Client.open(str(library))


class TestCompile:
    @pytest.mark.parametrize("program", [b"garbage", b"", b"ML\xefR\x00broken"])
    def test_invalid_program(self, client, program):
        with pytest.raises(RuntimeError, match="failed to compile a program"):
            client.compile(program, PORTABLE)

    def test_ill_typed_program(self, client):
        program = ADD.replace(b"-> tensor<4x4xf32>", b"-> tensor<4x5xf32>")
        with pytest.raises(RuntimeError, match="doesn't match function result type"):
            client.compile(program, PORTABLE)

    def test_describes_the_executable(self, client):
        executable = client.compile(ADD, PORTABLE)
        assert executable.num_outputs == 1
        assert executable.code_bytes >= 0

    def test_serialized_executable_runs(self, client):
        serialized = client.compile(ADD, PORTABLE).serialize()
        executable = client.deserialize(serialized)
        arguments = [put(client, matrix(1)), put(client, matrix(2))]
        outputs, done = client.execute(executable, arguments, MATRIX)
        done.wait()
        assert torch.equal(get(outputs[0]), matrix(3))

    @pytest.mark.parametrize("damage", ["truncated", "empty", "foreign"])
    def test_damaged_executable(self, client, damage):
        serialized = client.compile(ADD, PORTABLE).serialize()
        damaged = {
            "truncated": serialized[: len(serialized) // 2],
            "empty": b"",
            "foreign": b"\x00" * 100,
        }[damage]
        with pytest.raises(RuntimeError, match="failed to load a serialized executable"):
            client.deserialize(damaged)


class TestMemory:
    def test_counts_live_buffers(self, plugin):
        client = _C.Client.open(plugin)
        buffers = [put(client, torch.zeros(1000, dtype=torch.uint8)) for _ in range(3)]
        del buffers[0]
        stats = client.memory_stats()
        assert stats["allocated_bytes"] == stats["reserved_bytes"] == (2000, 3000, 3000, 1000)
        assert stats["allocation"] == (2, 3, 3, 1)
        client.reset_peak_memory()
        client.reset_accumulated_memory()
        assert client.memory_stats()["allocated_bytes"] == (2000, 2000, 0, 0)
        del buffers
        assert client.memory_stats()["allocated_bytes"] == (0, 2000, 0, 2000)

    def test_donated_bytes_count_once(self, plugin):
        client = _C.Client.open(plugin)
        executable = client.compile(ADD_IN_PLACE, PORTABLE)
        a, b = put(client, matrix(1)), put(client, matrix(2))
        outputs, _ = client.execute(executable, [a, b], MATRIX)
        a.donated()
        assert client.memory_stats()["allocated_bytes"][0] == 128
        del a
        assert client.memory_stats()["allocated_bytes"][0] == 128
        del outputs, b
        assert client.memory_stats()["allocated_bytes"][0] == 0

    def test_devices_count_apart(self, plugin):
        client = _C.Client.open(plugin)
        buffer = put(client, torch.zeros(100, dtype=torch.uint8), device=1)
        assert client.memory_stats(0)["allocated_bytes"][0] == 0
        assert client.memory_stats(1)["allocated_bytes"][0] == buffer.nbytes == 100

    def test_limit(self, plugin):
        client = _C.Client.open(plugin)
        assert 2**28 < client.memory_limit() < 2**46
        client.set_memory_limit(3 << 20)
        kept = client.from_host(bytes(1 << 20), torch.uint8, [1 << 20])
        message = (
            r"neuron out of memory\. Tried to allocate 2\.50 MiB \(2621440 bytes\) on neuron:0, "
            r"of whose 3\.00 MiB tensors use 1\.00 MiB \(1048576 bytes\) and 2\.00 MiB are free\."
        )
        with pytest.raises(torch.OutOfMemoryError, match=message):
            client.from_host(bytes(5 << 19), torch.uint8, [5 << 19])
        assert client.memory_stats()["num_ooms"] == 1
        del kept
        assert client.from_host(bytes(5 << 19), torch.uint8, [5 << 19]).nbytes == 5 << 19

    def test_device_runs_out(self, plugin):
        client = _C.Client.open(plugin)
        scalar = put(client, torch.tensor(1.0))
        with pytest.raises(torch.OutOfMemoryError, match=r" out of memory\. ") as raised:
            run(client, HUGE, [scalar], [(torch.float32, [2**45])])
        assert len(raised.value.args) == 1
        assert client.memory_stats()["num_ooms"] == 1
        assert get(scalar).item() == 1.0
