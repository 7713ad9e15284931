"""Environment variables: values, defaults, errors that name the variable, and the page."""

from pathlib import Path

import pytest

from torch_neuronx.runtime import config, platforms

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        (config.FALLBACK_ENABLED, "0", False),
        (config.FALLBACK_ENABLED, "True", True),
        (config.LAUNCH_BLOCKING, "on", True),
        (config.VISIBLE_CORES, "0", (0,)),
        (config.VISIBLE_CORES, "0-3", (0, 1, 2, 3)),
        (config.VISIBLE_CORES, "3,1", (1, 3)),
        (config.NUM_CORES, "4", 4),
        (config.CACHE_SIZE, "4GiB", 4 * 1024**3),
        (config.CACHE_SIZE, "1.5MB", 1_500_000),
        (config.CACHE_SIZE, "17", 17),
        (config.NEFF_CACHE_DIR, "/a/b", Path("/a/b")),
    ],
)
def test_a_value_is_parsed(monkeypatch, variable, text, value):
    monkeypatch.setenv(variable.name, text)
    assert variable.value() == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (config.FALLBACK_ENABLED, "maybe"),
        (config.VISIBLE_CORES, "3-1"),
        (config.VISIBLE_CORES, "0,,1"),
        (config.VISIBLE_CORES, "one"),
        (config.NUM_CORES, "0"),
        (config.NUM_CORES, "-1"),
        (config.MODEL_CACHE_SIZE, "many"),
        (config.CACHE_SIZE, "4 parsecs"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_variable(monkeypatch, variable, text):
    monkeypatch.setenv(variable.name, text)
    with pytest.raises(ValueError, match=variable.name) as caught:
        variable.value()
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("variable", config.VARIABLES, ids=lambda v: v.name)
def test_unset_and_empty_give_the_default(monkeypatch, variable):
    monkeypatch.delenv(variable.name, raising=False)
    assert variable.value() == variable.default
    monkeypatch.setenv(variable.name, "")
    assert variable.value() == variable.default


def test_the_cache_is_in_the_users_folder_and_never_in_tmp(monkeypatch):
    monkeypatch.delenv(config.NEFF_CACHE_DIR.name, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert config.cache_dir() == Path("/home/somebody/.cache/torch_neuronx")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/somebody")
    assert config.cache_dir() == Path("/var/somebody/torch_neuronx")


def test_artifacts_are_kept_only_when_asked_for(monkeypatch, cache_dir):
    monkeypatch.setenv(config.DEBUG_DIR.name, "/d")
    assert config.debug_dir() is None
    monkeypatch.setenv(config.PRESERVE_COMPILATION_ARTIFACTS.name, "1")
    assert config.debug_dir() == Path("/d")
    monkeypatch.delenv(config.DEBUG_DIR.name)
    assert config.debug_dir() == cache_dir / "debug"


def test_misspelt_variables_are_found(monkeypatch):
    monkeypatch.setenv("TORCH_NEURONX_PLATFROM", "cpu")
    assert "TORCH_NEURONX_PLATFROM" in config.unknown()
    assert config.PLATFORM.name not in config.unknown()


def test_the_page_is_current():
    page = (ROOT / "docs" / "environment.md").read_text()
    assert page == config.markdown(), "run `make docs`"


def test_the_default_platform_has_its_plugin(monkeypatch):
    monkeypatch.delenv(config.PLATFORM.name, raising=False)
    monkeypatch.setenv(config.VISIBLE_CORES.name, "2-4")
    platform = platforms.resolve()
    assert platform.name == "cpu"
    assert Path(platform.plugin_path).is_file()
    assert platform.options == {"cpu_device_count": 3}


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({}, 1),
        ({"LOCAL_WORLD_SIZE": "4"}, 4),
        ({"NEURON_RT_NUM_CORES": "2", "LOCAL_WORLD_SIZE": "4"}, 2),
        ({"NEURON_RT_VISIBLE_CORES": "1,3,5", "NEURON_RT_NUM_CORES": "2"}, 3),
    ],
)
def test_how_many_devices_the_environment_asks_for(monkeypatch, environment, count):
    for name in ("LOCAL_WORLD_SIZE", "NEURON_RT_NUM_CORES", "NEURON_RT_VISIBLE_CORES"):
        monkeypatch.delenv(name, raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert platforms.device_count() == count


def test_a_plugin_may_be_named_by_its_path(monkeypatch, tmp_path):
    plugin = tmp_path / "my_plugin.so"
    plugin.symlink_to(platforms.resolve("cpu").plugin_path)
    monkeypatch.setenv(config.PLATFORM.name, str(plugin))
    assert platforms.resolve() == platforms.Platform("my_plugin", str(plugin.resolve()), {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "TORCH_NEURONX_PLATFORM='gpu' is neither a platform"),
        ("/nowhere/plugin.so", "The PJRT plugin /nowhere/plugin.so does not exist"),
        ("tpu", "The plugin of platform 'tpu' is not installed: pip install libtpu"),
    ],
)
def test_an_absent_platform_is_one_clear_sentence(name, message):
    with pytest.raises(RuntimeError, match=message.replace("(", r"\(")) as caught:
        platforms.resolve(name)
    assert "\n" not in str(caught.value)
