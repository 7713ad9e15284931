"""What happens when the C++ dispatcher meets a call it has no program for.

`describe` is asked once per op, `miss` once per new call; neither runs on a cached call. Called by
the C++ core. Importing this package imports no jaxlib, and neither does a call found on disk.
"""

from typing import Any


def describe(op: Any) -> Any:
    """Which road an op takes and which of its numbers are run-time inputs: see `roads`."""
    from torch_neuronx.eager import roads

    return roads.describe(op)


def miss(call: Any) -> Any:
    """The program for a new call, from disk or made now: see `program`."""
    from torch_neuronx.runtime import cache

    key, name = _key(call), str(call.op)
    found = cache.lookup(key, name, call)
    if found is not None:
        return found
    made = _plan(call)
    portable = made.portable
    if portable is not None:
        check_memory(made.program, call.device)
        made.program.executable = cache.compile(
            portable, name, quick=made.quick, call=call, graph=made.graph
        )
    cache.store(key, name, made.program, portable, made.quick)
    return made.program


def _plan(call: Any) -> Any:
    """The plan of a call; a rule that fails costs speed (a warned host run), not the run, unless
    TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS asks for the error."""
    from torch_neuronx.eager.plan import Plan, plan
    from torch_neuronx.eager.program import Host
    from torch_neuronx.lowering.hlo.bindings import UnsupportedDtype
    from torch_neuronx.lowering.value import LoweringError
    from torch_neuronx.runtime import config
    from torch_neuronx.runtime.platforms import client

    try:
        _check_dtypes(call)
        made = plan(call, client().attributes.get("stablehlo_current_version", ""))
    except UnsupportedDtype as error:
        raise NotImplementedError(str(error)) from None
    except LoweringError as error:
        if config.FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS.value():
            raise RuntimeError(f"Lowering {call.op} for neuron failed: {error}") from error
        made = Plan(Host(f"its lowering failed: {error}"))
    if isinstance(made.program, Host) and not _can_run_on_host(call.op):
        raise NotImplementedError(f"{call.op} cannot run on neuron: {made.program.reason}")
    return made


def _can_run_on_host(op: Any) -> bool:
    """Not the copies of which a host run is made, nor an op that only accelerators have."""
    import torch

    from torch_neuronx.lowering import registry

    return op is not torch.ops.aten.copy_.default and registry.has_cpu_kernel(op)


def _check_dtypes(call: Any) -> None:
    from torch_neuronx.lowering.hlo.bindings import check_supported

    for tensor in call.tensors():
        check_supported(tensor.dtype, call.op)


def check_memory(program: Any, device: int) -> None:
    """Raises OutOfMemoryError before the compiler sees sizes that it was not made for: XLA:CPU's
    dies of some that no memory could hold.
    """
    import math

    import torch

    new = (r for r in program.results if r[0] == "new")
    nbytes = sum(math.prod(shape) * dtype.itemsize for _, dtype, _, _, shape, *_ in new)
    try:
        torch.UntypedStorage(nbytes, device=f"neuron:{device}")
    except torch.OutOfMemoryError as error:
        message = f"{error} (when running {program.name} on neuron)"
        raise torch.OutOfMemoryError(message) from None


def _key(call: Any) -> bytes:
    from torch_neuronx.lowering.flags import lowering_flags

    return call.key + lowering_flags()
