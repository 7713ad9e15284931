"""A cache folder that is read-only, full, damaged or shared with strangers: slower, never wrong."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Three programs; prints how many were compiled, and warnings as `warnings` shows them.
_RUN = """
import torch, torch_neuronx
x = torch.arange(12.0).reshape(3, 4).to("neuron")
assert (x @ x.t()).tolist() == [[14, 38, 62], [38, 126, 214], [62, 214, 366]]
assert x.softmax(1).sum(1).round().tolist() == [1, 1, 1]
assert x[torch.tensor([2, 0])].flatten().tolist() == [8, 9, 10, 11, 0, 1, 2, 3]
try:
    x[torch.tensor([5])]
except IndexError as error:
    assert str(error) == "index 5 is out of bounds for dimension 0 with size 3"
print(torch_neuronx.cache_info().requests["compiled"])
"""


def run(folder, before=None):
    """(programs compiled, stderr) of a fresh process that caches in `folder`."""
    process = subprocess.run(
        [sys.executable, "-c", _RUN],
        env={**os.environ, "TORCH_NEURONX_NEFF_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=before,
    )
    assert process.returncode == 0, process.stderr
    assert "Traceback" not in process.stderr
    return int(process.stdout), process.stderr


def entries(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file())


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    """One bit of every 97th byte."""
    changed = bytearray(data)
    for at in range(50, len(changed), 97):
        changed[at] ^= 4
    return bytes(changed)


DAMAGE = {
    "cut": cut,
    "flipped": flipped,
    "empty": lambda data: b"",
    "foreign": lambda data: b"\x7fELF" + os.urandom(3000),
    "longer": lambda data: data + b"tail",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that one process has filled, and the number of programs that it compiled."""
    folder = tmp_path_factory.mktemp("filled")
    compiled, warned = run(folder)
    assert compiled > 0 and not warned
    return folder, compiled


@pytest.fixture
def copy(filled, tmp_path):
    shutil.copytree(filled[0], tmp_path, dirs_exist_ok=True)
    return tmp_path, filled[1]


def test_damage_of_every_kind_is_mended(copy):
    folder, first = copy
    kinds = list(DAMAGE)
    for number, path in enumerate(entries(folder)):
        path.write_bytes(DAMAGE[kinds[number % len(kinds)]](path.read_bytes()))
    stranger = folder / "neuron-cache-1" / "executables" / "README"
    stranger.write_text("not yours")
    second, warned = run(folder)
    assert 0 < second <= first and not warned
    third, _ = run(folder)
    assert third == 0
    assert stranger.read_text() == "not yours"


def test_entries_that_are_folders_are_left_alone(copy):
    folder, first = copy
    for path in entries(folder):
        path.unlink()
        path.mkdir()
    second, warned = run(folder)
    assert second == first
    assert warned.count("cannot be written") == 1


@pytest.mark.parametrize("where", ["/proc", "a folder that is a file"])
def test_a_folder_that_cannot_be_made(tmp_path, where):
    occupied = tmp_path / "occupied"
    occupied.write_text("mine")
    folder = {
        "/proc": Path("/proc/neuron-cache"),
        "a folder that is a file": occupied,
    }[where]
    compiled, warned = run(folder)
    assert compiled > 0
    assert warned.count(f"The executable cache at {folder}") == 1
    assert "cannot be written" in warned
    assert occupied.read_text() == "mine"


def test_a_disk_that_is_full(tmp_path):
    """No file may grow beyond 2 KB."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    compiled, warned = run(tmp_path, limit)
    assert compiled > 0
    assert warned.count("cannot be written") == 1
    assert "File too large" in warned
    assert not [p for p in entries(tmp_path) if p.name.endswith(".partial")]
    again, warned = run(tmp_path)
    assert again <= compiled and not warned


def test_a_read_only_folder_is_read(copy):
    """Read-only to us: its files may be read, and none may grow beyond what other libraries write
    to find a folder for temporary files."""
    folder, _ = copy
    before = {p: p.read_bytes() for p in entries(folder)}

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    compiled, warned = run(folder, limit)
    assert compiled == 0 and not warned
    assert {p: p.read_bytes() for p in entries(folder)} == before
