"""The executable cache: what it finds again, what it never trusts, and what it survives.

The compiler is a stand-in here, so that each failure can be made at will; the same promises are
held with the real one in test_cache_processes.py.
"""

import os
import sys
import threading
import time
import types
import warnings

import pytest
import torch

import torch_neuronx
from torch_neuronx.eager.program import Composite, Host, Launch
from torch_neuronx.runtime import cache, config, files, identity, metrics


class Executable:
    def __init__(self, code):
        self.code = code
        self.has_run = False  # after which XLA:CPU cannot serialize a sort

    def serialize(self):
        if self.has_run:
            raise NotImplementedError("LessThan is not serializable")
        return b"machine code of " + self.code

    @property
    def code_bytes(self):
        return len(self.code)


class Core(types.ModuleType):
    """The extension and its client: compiles by remembering, counts, and fails on demand."""

    def __init__(self, plugin):
        super().__init__("torch_neuronx._C")
        self.plugin_path = plugin
        self.compiled, self.deserialized = [], 0
        self.refuse_to_load = self.refuse_to_compile = False

    def client(self):
        return self

    def compile(self, program, options):
        if self.refuse_to_compile:
            raise RuntimeError("no such instruction")
        self.compiled.append(program)
        return Executable(program)

    def deserialize(self, data, options):
        if self.refuse_to_load:
            raise RuntimeError("another version")
        self.deserialized += 1
        return Executable(data.removeprefix(b"machine code of "))

    def program_count(self):
        return 0

    def clear_programs(self):
        pass


@pytest.fixture
def core(monkeypatch, tmp_path, cache_dir):
    plugin = tmp_path / "plugin.so"
    plugin.write_bytes(os.urandom(100_000))
    core = Core(str(plugin))
    monkeypatch.setitem(sys.modules, "torch_neuronx._C", core)
    monkeypatch.setattr(torch_neuronx, "_C", core, raising=False)
    new_process()
    yield core
    new_process()


def new_process():
    """Forgets what a process knows; what is left is what the disk has."""
    cache.flush()
    cache._alive.clear()
    for known in (cache._plugin, cache._folder_at, cache._upkeep, identity._environment):
        known.cache_clear()
    identity._lowering.cache_clear()


def launch(executable, name="aten::add.Tensor"):
    return Launch(
        executable=executable,
        inputs=[("base", 0), ("number", 1), ("rng",)],
        results=[("new", torch.bfloat16, (2, 3), (3, 1), (2, 3)), ("check",)],
        returns=[("result", 0), ("value", 1.5), ("list", [("none",), ("arg", 0)])],
        checks=[("IndexError", "index {} is out of bounds")],
        rng_increment=4,
        name=name,
    )


def entries(cache_dir, kind):
    return [p for p in (cache_dir / "neuron-cache-1" / kind).rglob("*") if p.is_file()]


def run(key=b"key", portable=b"stablehlo", name="aten::add.Tensor"):
    """What the eager part does on a miss: look up, else lower, compile and store."""
    program = cache.lookup(key, name)
    if program is None:
        program = launch(cache.compile(portable, name), name)
        cache.store(key, name, program, portable)
    return program


def test_a_second_process_compiles_nothing(core):
    first = run()
    new_process()
    second = run()
    assert len(core.compiled) == 1
    assert core.deserialized == 1
    assert second.executable.code == first.executable.code
    first.executable = second.executable = None
    assert first == second


def test_a_program_is_found_by_its_stablehlo_under_another_call_key(core):
    run(b"one")
    new_process()
    run(b"two")
    assert len(core.compiled) == 1


def test_a_program_is_kept_that_cannot_be_serialized_once_it_has_run(core):
    gate = threading.Event()
    cache._writer.submit(gate.wait)
    run().executable.has_run = True
    gate.set()
    new_process()
    run()
    assert len(core.compiled) == 1


def test_calls_that_share_a_program_share_its_executable(core):
    assert run(b"one").executable is run(b"two").executable


@pytest.mark.parametrize("program", [Host("its output shape depends on data"), Composite()])
def test_programs_without_an_executable_are_kept(core, program):
    cache.store(b"key", "aten::nonzero", program, None)
    new_process()
    assert cache.lookup(b"key", "aten::nonzero") == program


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -0.0,
        2.5,
        float("inf"),
        "text",
        1 + 2j,
        (1, (2,)),
        [1, [2]],
        torch.float8_e5m2,
        torch.channels_last,
    ],
    ids=repr,
)
def test_every_value_comes_back_equal_and_of_its_type(core, value):
    program = Launch(None, [], [], [("value", value)], [], 0, "op")
    cache.store(b"key", "op", program, None)
    new_process()
    back = cache.lookup(b"key", "op")
    assert back == program
    assert type(back.returns[0][1]) is type(value)


def test_a_program_with_a_process_local_value_is_not_kept(core, cache_dir):
    program = launch(cache.compile(b"stablehlo", "op"))
    program.returns = [("value", object())]
    cache.store(b"key", "op", program, b"stablehlo")
    cache.flush()
    assert not entries(cache_dir, "calls")


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "cut":
        data = data[: len(data) // 2]
    elif how == "emptied":
        data = bytearray()
    elif how == "foreign":
        data = bytearray(b"\x7fELF" * 50)
    else:
        data[{"header": 30, "body": -1}[how]] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["cut", "emptied", "foreign", "header", "body"])
@pytest.mark.parametrize("kind", ["calls", "executables"])
def test_a_damaged_entry_is_never_trusted(core, cache_dir, kind, how):
    run()
    new_process()
    for path in entries(cache_dir, kind):
        damage(path, how)
    assert run().executable.code == b"stablehlo"
    new_process()
    compiled = len(core.compiled)
    run()
    assert len(core.compiled) == compiled, "the entry was not mended"


def test_an_entry_under_the_name_of_another_is_not_trusted(core, cache_dir):
    run(b"one", b"program one")
    run(b"two", b"program two")
    new_process()
    one, two = entries(cache_dir, "executables")
    one.write_bytes(two.read_bytes())
    assert run(b"one", b"program one").executable.code == b"program one"
    assert run(b"two", b"program two").executable.code == b"program two"


def test_an_executable_that_the_plugin_refuses_is_made_from_its_stablehlo(core):
    run()
    new_process()
    core.refuse_to_load = True
    program = cache.lookup(b"key", "aten::add.Tensor")
    assert program.executable.code == b"stablehlo"
    assert core.compiled == [b"stablehlo"] * 2


def test_a_compile_that_fails_is_not_cached_and_names_the_op(core, cache_dir):
    core.refuse_to_compile = True
    with pytest.raises(RuntimeError, match=r"aten::add\.Tensor.*no such instruction"):
        run()
    cache.flush()
    assert not entries(cache_dir, "executables")
    core.refuse_to_compile = False
    assert run().executable.code == b"stablehlo"


def test_another_plugin_does_not_see_the_entries(core, tmp_path):
    run()
    new_process()
    (tmp_path / "plugin.so").write_bytes(os.urandom(100_000))
    run()
    assert len(core.compiled) == 2


def test_compiler_flags_are_part_of_the_key(core, monkeypatch):
    run()
    new_process()
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    run()
    assert len(core.compiled) == 2


def test_a_change_of_the_lowering_traces_again_but_compiles_only_what_changed(core, monkeypatch):
    run()
    new_process()
    monkeypatch.setattr(identity, "_lowering", lambda: b"other sources")
    assert cache.lookup(b"key", "aten::add.Tensor") is None
    monkeypatch.undo()


def test_the_cache_can_be_switched_off(core, cache_dir, monkeypatch):
    monkeypatch.setenv(config.NEFF_DISABLE_CACHE.name, "1")
    run()
    new_process()
    run()
    assert len(core.compiled) == 2
    assert not cache_dir.exists()


@pytest.mark.parametrize("reason", ["file in the way", "disk full"])
def test_a_folder_that_cannot_be_written_costs_one_warning(core, cache_dir, monkeypatch, reason):
    if reason == "file in the way":
        cache_dir.write_text("")
    else:
        monkeypatch.setattr(os, "fsync", full_disk)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run(b"one", b"p1").executable.code == b"p1"
        assert run(b"two", b"p2").executable.code == b"p2"
        cache.flush()
    (warning,) = caught
    assert "cannot be written" in str(warning.message)
    assert not [p for p in cache_dir.rglob("*") if p.is_file()] or reason == "file in the way"


def full_disk(handle):
    raise OSError(28, "No space left on device")


def test_a_read_only_folder_is_still_read(core, monkeypatch):
    run()
    new_process()
    monkeypatch.setattr(os, "utime", full_disk)
    monkeypatch.setattr(files, "_TOUCH_AFTER", -1.0)
    run()
    assert len(core.compiled) == 1


def test_the_size_limit_evicts_the_least_recently_used(core, cache_dir, monkeypatch):
    for i in range(20):
        run(b"key%d" % i, os.urandom(10_000))
    cache.flush()
    for i, path in enumerate(sorted(entries(cache_dir, "executables"), key=os.path.getmtime)):
        os.utime(path, (1000.0 + i, 1000.0 + i))
    oldest, *_, newest = sorted(entries(cache_dir, "executables"), key=os.path.getmtime)
    monkeypatch.setenv(config.CACHE_SIZE.name, "200KB")
    run(b"one more", os.urandom(10_000))
    cache.flush()
    assert cache.cache_info().bytes_on_disk <= 200_000
    assert newest.exists()
    assert not oldest.exists()


def test_what_a_killed_process_left_is_swept(core, cache_dir):
    run()
    cache.flush()
    folder = entries(cache_dir, "executables")[0].parent
    old, new = folder / ".a.partial", folder / ".b.partial"
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (0, 0))
    cache._folder().evict(10**9)
    assert not old.exists()
    assert new.exists()


def test_info_and_clear(core, cache_dir):
    first = run(b"one")
    assert run(b"two").executable is first.executable
    info = cache.cache_info()
    assert (info.programs_on_disk, info.executables_on_disk) == (2, 1)
    assert info.bytes_on_disk > 0
    bystander = cache_dir / "notes.txt"
    bystander.write_text("mine")
    del first
    cache.clear_cache()
    assert cache.cache_info().bytes_on_disk == 0
    assert bystander.exists()
    run(b"one")
    assert len(core.compiled) == 2


def test_threads_that_want_one_program_compile_it_once(core):
    compile_at_once = core.compile
    core.compile = lambda *a: (time.sleep(0.05), compile_at_once(*a))[1]
    programs = []
    threads = [
        threading.Thread(target=lambda i=i: programs.append(run(b"k%d" % i))) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(programs) == 4
    assert len(core.compiled) == 1


def test_a_lookup_takes_less_than_a_millisecond_and_no_compiler(core):
    for i in range(100):
        run(b"key%d" % i, b"program %d" % i)
    new_process()
    run(b"key0", b"program 0")  # reads the plugin and the sources, once per process
    times = []
    for i in range(1, 100):
        start = time.perf_counter()
        assert cache.lookup(b"key%d" % i, "aten::add.Tensor") is not None
        times.append(time.perf_counter() - start)
    assert sorted(times)[50] < 1e-3


def test_artifacts_of_a_compile_are_kept_when_asked_for(core, monkeypatch, tmp_path):
    from torch_neuronx.runtime import artifacts

    monkeypatch.setattr(artifacts, "_stablehlo_text", lambda portable: "module {}")
    monkeypatch.setenv(config.DEBUG_DIR.name, str(tmp_path / "debug"))
    monkeypatch.setenv(config.PRESERVE_COMPILATION_ARTIFACTS.name, "1")
    cache.compile(b"stablehlo", "aten::add.Tensor", graph="the graph")
    (folder,) = (tmp_path / "debug").iterdir()
    assert folder.name.endswith("aten_add.Tensor")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {
        "graph.txt": b"the graph",
        "program.mlirbc": b"stablehlo",
        "program.mlir": b"module {}",
        "executable.bin": b"machine code of stablehlo",
    }


def test_artifacts_are_kept_without_an_executable_that_cannot_be_serialized(
    core, monkeypatch, tmp_path
):
    from torch_neuronx.runtime import artifacts

    monkeypatch.setattr(artifacts, "_stablehlo_text", lambda portable: "module {}")
    executable = run().executable
    executable.has_run = True
    monkeypatch.setenv(config.DEBUG_DIR.name, str(tmp_path / "debug"))
    monkeypatch.setenv(config.PRESERVE_COMPILATION_ARTIFACTS.name, "1")
    assert cache.compile(b"stablehlo", "aten::add.Tensor") is executable
    (folder,) = (tmp_path / "debug").iterdir()
    assert {p.name for p in folder.iterdir()} == {"program.mlirbc", "program.mlir"}


def test_every_request_is_recorded_with_its_tier(core):
    before = metrics.requests()
    first = run(b"one")
    assert run(b"two").executable is first.executable
    new_process()
    run(b"one")
    after = metrics.requests()
    assert {t: after[t] - before[t] for t in after} == {"memory": 1, "disk": 1, "compiled": 1}


def test_no_warning_in_the_ordinary_course(core):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()
        new_process()
        run()
