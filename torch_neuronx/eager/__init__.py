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
        made.program.executable = cache.compile(portable, name, call=call)
    cache.store(key, name, made.program, portable)
    return made.program


def _plan(call: Any) -> Any:
    """The plan of a call; a rule that fails costs speed (a warned host run), not the run."""
    from torch_neuronx.eager.plan import Plan, plan
    from torch_neuronx.eager.program import Host
    from torch_neuronx.lowering import registry
    from torch_neuronx.lowering.value import LoweringError
    from torch_neuronx.runtime.platforms import client

    try:
        return plan(call, client().attributes.get("stablehlo_current_version", ""))
    except LoweringError as error:
        if registry.cpu_form(call.op) is not call.op:
            raise
        return Plan(Host(f"its lowering failed: {error}"))


def _key(call: Any) -> bytes:
    from torch_neuronx.lowering.flags import lowering_flags

    return call.key + lowering_flags()
