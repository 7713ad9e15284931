"""Plugins that cannot be opened, and environment variables that make no sense.

A failed opening may be tried again, so one fresh interpreter tries all that is wrong in turn.
"""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from refusal import readable

from torch_neuronx.runtime import config, platforms

_TRY_ALL = """
import json, os, sys
import torch
before = dict(os.environ)
for variable, value in json.load(sys.stdin):
    os.environ[variable] = value
    try:
        torch.ones(3, device="neuron")
        outcome = ["nothing", ""]
    except Exception as error:
        outcome = [type(error).__name__, str(error)]
    print(json.dumps([*outcome, torch.neuron.is_available()]), flush=True)
    os.environ.pop(variable)
    os.environ.update(before)
print(json.dumps(["usable", str(torch.ones(3, device="neuron").sum().item()), True]))
"""


def outcomes(attempts):
    """(exception type, message, is_available) of each (variable, value), then of none of them."""
    process = subprocess.run(
        [sys.executable, "-c", _TRY_ALL],
        input=json.dumps(attempts),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert "Traceback" not in process.stderr
    *results, last = [json.loads(line) for line in process.stdout.splitlines()]
    assert last == ["usable", "3.0", True]
    return results


def a_library():
    import _ctypes

    return Path(_ctypes.__file__).read_bytes()


def altered(at, replacement):
    library = bytearray(a_library())
    library[at : at + len(replacement)] = replacement
    return bytes(library)


def files(folder):
    """name -> (path, words of the message)."""
    contents = {
        "text": (b"not a library\n" * 100, "is not a shared library"),
        "empty": (b"", "is not a shared library"),
        "header": (a_library()[:20], "is incomplete: install it again"),
        "cut": (a_library()[:5000], "is incomplete: install it again"),
        "arm": (altered(18, struct.pack("<H", 183)), "is built for another machine (aarch64)"),
        "32bit": (altered(4, b"\x01"), "is built for another machine"),
        "library": (a_library(), "is not a PJRT plugin: it has no function GetPjrtApi"),
    }
    made = {}
    for name, (data, words) in contents.items():
        path = folder / f"{name}.so"
        path.write_bytes(data)
        made[name] = (str(path), words)
    (folder / "dangling.so").symlink_to("/nowhere/plugin.so")
    absent = "does not exist or is not a file"
    made["nowhere"] = ("/nowhere/plugin.so", absent)
    made["folder"] = (str(folder), absent)
    made["device"] = ("/dev/null", absent)
    made["dangling"] = (str(folder / "dangling.so"), absent)
    made["unknown"] = ("gpu", "is neither a platform (cpu, neuron, cuda, tpu) nor the path")
    made["long"] = ("a" * 5000, "is neither a platform (cpu, neuron, cuda, tpu) nor the path")
    made["blank"] = (" ", "is neither a platform (cpu, neuron, cuda, tpu) nor the path")
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="the files are ELF files")
def test_what_is_no_plugin(tmp_path):
    cases = files(tmp_path)
    attempts = [(config.PLATFORM.name, path) for path, _ in cases.values()]
    for name, outcome in zip(cases, outcomes(attempts), strict=True):
        path, words = cases[name]
        kind, message, available = outcome
        assert kind == "RuntimeError", name
        assert words in readable(message), name
        assert path in message, name
        assert "\n" not in message, name
        assert available == (name == "library"), name  # only the loader can tell


def test_a_platform_whose_plugin_is_not_installed():
    missing = [n for n in platforms.PLUGINS if not is_installed(n)]
    attempts = [(config.PLATFORM.name, name) for name in missing]
    for name, (kind, message, available) in zip(missing, outcomes(attempts), strict=True):
        assert kind == "RuntimeError"
        assert f"The plugin of platform '{name}' is not installed: " in message
        assert not available


def is_installed(name):
    try:
        return bool(platforms.resolve(name))
    except RuntimeError:
        return False


def test_variables_that_make_no_sense():
    """Whichever it is, opening the device names it, also when nothing would read it soon."""
    cases = [
        (config.VISIBLE_CORES.name, "x"),
        (config.VISIBLE_CORES.name, "3-1"),
        (config.VISIBLE_CORES.name, "0-100000"),
        (config.NUM_CORES.name, "many"),
        (config.NUM_CORES.name, "0"),
        (config.NUM_CORES.name, "99999999"),
        (config.LAUNCH_BLOCKING.name, "maybe"),
        (config.FALLBACK_ENABLED.name, "maybe"),
        (config.MODEL_CACHE_SIZE.name, "-1"),
        (config.NEFF_DISABLE_CACHE.name, "perhaps"),
        (config.CACHE_SIZE.name, "lots"),
        (config.PRESERVE_COMPILATION_ARTIFACTS.name, "please"),
    ]
    for (name, value), (kind, message, available) in zip(cases, outcomes(cases), strict=True):
        assert kind == "ValueError", name
        assert readable(message).startswith(f"{name}={value!r} is not valid: expected "), message
        assert not available


def test_collect_env_says_what_is_wrong(tmp_path):
    plugin = tmp_path / "plugin.so"
    plugin.write_text("not a library")
    process = subprocess.run(
        [sys.executable, "-m", "torch_neuronx.collect_env"],
        env={**os.environ, config.PLATFORM.name: str(plugin)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode != 0
    assert f"The PJRT plugin {plugin} is not a shared library" in process.stdout
    assert "Traceback" not in process.stdout + process.stderr
