"""Registering the device: what importing torch costs, changes and leaves alone."""

import pytest
import torch
from subprocesses import run

import torch_neuronx
from torch_neuronx._registration import check_versions

# What torch's own rename_privateuse1_backend rebinds when any backend registers.
RENAMED_BY_TORCH = {
    "torch.utils.backend_registration._privateuse1_backend_name",
    *(
        f"torch._C.{owner}.{name}"
        for owner in ("_profiler.ProfilerActivity", "_autograd.DeviceType")
        for name in ("__repr__", "__str__", "name")
    ),
}


def test_no_attribute_of_torch_is_replaced():
    result = run(
        """
        import sys, types
        import torch, torch.nn, torch.optim, torch.utils.data, torch.distributed

        def attributes():
            found = {}
            for name, module in list(sys.modules.items()):
                if name.split(".")[0] != "torch" or not isinstance(module, types.ModuleType):
                    continue
                for key, value in list(vars(module).items()):
                    found[name, key] = value
                    if isinstance(value, type) and value.__module__.startswith("torch"):
                        for member, definition in list(vars(value).items()):
                            found[f"{value.__module__}.{value.__qualname__}", member] = definition
            return found

        before = attributes()
        import torch_neuronx
        after = attributes()
        assert ("torch", "neuron") in after
        for key, value in before.items():
            if after.get(key, None) is not value and key[1] not in ("__doc__", "__annotations__"):
                print(".".join(key))
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    replaced = set(result.stdout.split())
    assert replaced <= RENAMED_BY_TORCH


def test_registration_is_a_small_part_of_importing_torch():
    # 60 ms where torch takes 1.5 s (benchmarks/import_time.py measures it): a machine that is busy
    # or slow is so for both. Processor time, unlike the clock, does not count other processes.
    code = """
        import time
        start = time.process_time()
        import torch
        torch_is_there = time.process_time()
        import torch_neuronx
        assert torch.neuron.is_available
        print((time.process_time() - torch_is_there) / (torch_is_there - start))
    """
    shares = [float(run(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout) for _ in range(3)]
    assert min(shares) < 0.04


def test_registration_opens_nothing_and_prints_nothing():
    result = run("""
        import sys, torch
        assert torch.neuron.is_available() and torch.neuron.device_count() >= 1
        torch.manual_seed(1)
        torch.neuron.get_rng_state(), torch.Generator("neuron")
        torch.neuron.memory_stats(), torch.neuron.synchronize(), torch.neuron.memory_snapshot()
        assert not torch.neuron.is_initialized()
        assert not {"jax", "jaxlib", "lammps_jax_pjrt_cpu"} & set(sys.modules)
        assert "pjrt" not in open("/proc/self/maps").read()
    """)
    assert result.stdout == result.stderr == ""


def test_a_core_that_does_not_load_is_one_line_and_torch_works():
    result = run("""
        import sys
        sys.modules["torch_neuronx._C"] = None  # importing it raises ImportError
        import torch
        print((torch.ones(2) + 1).tolist())
    """)
    assert result.stdout == "[2.0, 2.0]\n"
    (line,) = result.stderr.splitlines()
    assert line.startswith("torch_neuronx:1: RuntimeWarning: The neuron device is not available: ")
    assert "torch_neuronx._C" in line


@pytest.mark.parametrize("running", ["2.12.1", "2.15.0+cpu", "1.13.0"])
def test_torch_outside_the_supported_range_is_refused(running):
    with pytest.raises(ImportError, match=r"torch .* is not supported, only torch>=2.13,<2.15"):
        check_versions(running, running)


def test_torch_other_than_the_one_built_against_is_refused():
    with pytest.raises(ImportError, match=r"built for torch 2.13.0.*torch 2.14.0\+cpu is running"):
        check_versions("2.14.0+cpu", "2.13.0+cpu")
    check_versions("2.13.0+cu130", "2.13.0+cpu")  # another build of the same release


def test_names_that_torch_generates():
    tensor, storage = torch.ones(2), torch.ones(2).untyped_storage()
    assert tensor.neuron().is_neuron
    assert not tensor.is_neuron
    assert torch.nn.Linear(1, 1).neuron().weight.device.type == "neuron"
    assert storage.neuron().is_neuron
    assert torch.device("neuron", 1) == torch.device("neuron:1")


def test_public_names_exist():
    for name in torch_neuronx.__all__:
        assert callable(getattr(torch_neuronx, name)), name
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = torch_neuronx.nonsense


def test_everything_listed_in_torch_neuron_exists():
    for name in torch.neuron.__all__:
        assert hasattr(torch.neuron, name), name
    for name in ("_lazy_init", "_is_in_bad_fork", "_exchange_device", "_maybe_exchange_device"):
        assert callable(getattr(torch.neuron, name))


def test_submodules_are_the_ones_registered():
    from torch.neuron.amp import autocast
    from torch.neuron.random import manual_seed

    assert autocast is torch.neuron.amp.autocast
    assert manual_seed is torch.neuron.manual_seed
