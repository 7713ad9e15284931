"""The neuron device for PyTorch.

Importing torch calls `_autoload` through the entry point group `torch.backends`; importing this
package does the same. Registration touches nothing of torch but its official extension points,
opens no device and imports neither jaxlib nor a PJRT plugin. When it is not possible, one warning
line says why, and torch works without the device.

The public names are loaded when they are first used.
"""

import importlib

# Public name -> the module that defines it.
_PUBLIC = {
    "cache_info": "torch_neuronx.runtime.cache",
    "clear_cache": "torch_neuronx.runtime.cache",
    "clear_op_tracking": "torch_neuronx.eager.fallback",
    "compile_only": "torch_neuronx.compile.compile_only",
    "enable_flex_attention": "torch_neuronx.flex_attention",
    "explain": "torch_neuronx.runtime.metrics",
    "get_dynamo_metrics": "torch_neuronx.runtime.metrics",
    "get_executed_ops": "torch_neuronx.eager.fallback",
    "get_fallback_ops": "torch_neuronx.eager.fallback",
    "no_fallback": "torch_neuronx.eager.fallback",
    "platform": "torch_neuronx.runtime.platforms",
    "reset_dynamo_metrics": "torch_neuronx.runtime.metrics",
}

__all__ = sorted(_PUBLIC)

_loaded = False


def _autoload() -> None:
    """Registers the device with torch, once; called by `import torch`."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    try:
        from torch_neuronx import _registration

        _registration.register()
    except Exception as error:
        _warn(error)


def _warn(error: Exception) -> None:
    import warnings

    reason = " ".join(str(error).split())
    message = f"The neuron device is not available: {reason}"
    # Explicit, because a warning that points at a source file prints a second line.
    warnings.warn_explicit(message, RuntimeWarning, filename="torch_neuronx", lineno=1)


def __getattr__(name: str):  # unannotated: mypy does not resolve Any in this import cycle
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    elif name == "neuron_dynamo_backend":
        value = importlib.import_module("torch_neuronx.neuron_dynamo_backend")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("torch-neuronx")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, "__version__"})


import torch  # noqa: E402, F401  (autoloads us, which needs the names above)

_autoload()  # where TORCH_DEVICE_BACKEND_AUTOLOAD=0 switched that off
