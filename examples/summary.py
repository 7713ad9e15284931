"""The last lines of each example: its figures, and what the device did for them."""

import resource

import torch

_TIERS = {"compiled": "compiled", "disk": "from disk", "memory": "shared"}


def programs(device: str) -> int:
    """How many programs the process has needed so far: compiled, or found on disk."""
    if device == "cpu":
        return 0
    import torch_neuronx

    return sum(torch_neuronx.cache_info().requests.values())


def fallbacks(device: str) -> list[str]:
    """The operators that ran on the host instead of the device."""
    if device == "cpu":
        return []
    import torch_neuronx

    return sorted(torch_neuronx.get_fallback_ops())


def show(device: str, figures: dict[str, str]) -> None:
    """Prints `figures`, and for a neuron device its programs, fallbacks and peak memory."""
    rows = dict(figures)
    if device == "cpu":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    else:
        import torch_neuronx

        peak = torch.accelerator.max_memory_allocated()
        requests = torch_neuronx.cache_info().requests
        rows["programs"] = ", ".join(f"{n} {_TIERS[tier]}" for tier, n in requests.items()) or "0"
        rows["fallbacks to the host"] = ", ".join(fallbacks(device)) or "0"
    rows["peak memory"] = f"{peak / 2**20:.0f} MiB"
    print("\n".join(f"{name:<28}{value:>20}" for name, value in rows.items()))
