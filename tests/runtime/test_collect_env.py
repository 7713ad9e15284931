"""The environment report: complete, and truthful about whether the device is usable."""

import os
import subprocess
import sys


def collect(**environment):
    return subprocess.run(
        [sys.executable, "-m", "torch_neuronx.collect_env"],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=120,
    )


def test_the_report_of_a_usable_device():
    result = collect(NEURON_RT_NUM_CORES="2", TORCH_NEURONX_TYPO="1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith("The neuron device is usable by torch.\n")
    for expected in (
        "torch-neuronx",
        "jaxlib",
        "plugin",
        "api_version",
        "neuron:1",
        "bytes on disk",
    ):
        assert expected in result.stdout
    assert "NEURON_RT_NUM_CORES    2" in result.stdout
    assert "TORCH_NEURONX_TYPO" in result.stdout
    assert "error" not in result.stdout


def test_a_missing_plugin_is_one_sentence_and_a_failure():
    result = collect(TORCH_NEURONX_PLATFORM="/nowhere/plugin.so")
    assert result.returncode == 1
    last = result.stdout.splitlines()[-1]
    assert last.startswith("The neuron device is not usable by torch: ")
    assert "/nowhere/plugin.so" in last
    assert "Traceback" not in result.stdout + result.stderr


def test_a_bad_variable_is_named():
    result = collect(NEURON_RT_VISIBLE_CORES="3-1")
    assert result.returncode == 1
    assert "NEURON_RT_VISIBLE_CORES" in result.stdout.splitlines()[-1]
