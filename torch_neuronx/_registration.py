"""Registers the neuron device with torch. Called once, by torch_neuronx._autoload.

Everything here goes through torch's extension points for private backends; the extension module
brings the C++ half (allocator, guard, hooks, generator, kernels) when it is loaded.
"""

import atexit
import sys
import time

import torch

SUPPORTED_TORCH = ((2, 13), (2, 15))  # from, and below


def register() -> None:
    """Raises ImportError in one sentence when the installation does not fit."""
    check_versions(torch.__version__, _built_version())
    torch.utils.rename_privateuse1_backend("neuron")
    from torch_neuronx import device
    from torch_neuronx.compile import artifacts
    from torch_neuronx.device import batching, higher_order, torchvision_autocast

    torch._register_device_module("neuron", device)
    for name in ("amp", "memory", "random"):  # so that `import torch.neuron.amp` finds ours
        sys.modules[f"torch.neuron.{name}"] = getattr(device, name)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    artifacts.register()
    higher_order.register()
    batching.register()
    torchvision_autocast.register()
    atexit.register(_let_backward_end)


def _let_backward_end() -> None:
    """Leaves the interpreter to autograd's threads for a moment before it goes away.

    The thread that runs a device's backward frees a Python object after the caller has its
    gradients. When the caller exits at once, that thread asks for a GIL that is never given
    again, and the process would end with "terminate called without an active exception".
    """
    from torch_neuronx import _C

    if _C._is_initialized():
        time.sleep(0.01)


def check_versions(running: str, built: str) -> None:
    """Raises ImportError unless the extension, built with one torch, fits the running one."""
    first, below = SUPPORTED_TORCH
    supported = f"torch>={_dotted(first)},<{_dotted(below)}"
    if not first <= _release(running)[:2] < below:
        raise ImportError(f"torch {running} is not supported, only {supported}.")
    if _release(running) != _release(built):
        raise ImportError(
            f"torch_neuronx was built for torch {built}, but torch {running} is running; "
            f"reinstall torch_neuronx, or install torch=={_dotted(_release(built))}."
        )


def _built_version() -> str:
    try:
        from torch_neuronx._build_info import TORCH_VERSION
    except ImportError:
        raise ImportError(
            "the C++ extension torch_neuronx._C has not been built; install torch_neuronx again."
        ) from None
    return TORCH_VERSION


def _release(version: str) -> tuple[int, ...]:
    """(2, 13, 0) for "2.13.0+cpu" and (2, 14, 0) for "2.14.0a0+git1234"."""
    numbers: list[int] = []
    for part in version.split("+")[0].split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits or 0))
    return tuple(numbers)


def _dotted(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))
