"""Memory of training: host memory over 100 steps, and the peak of a step against PyTorch CPU.

The peak on CPU is counted by the profiler as what PyTorch's CPU allocator holds, the same thing as
torch.neuron.max_memory_allocated(): bytes of live tensors, not of the process.
"""

import argparse
import json
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STABLE = 0.02  # share by which host memory may move
PEAK_RATIO = 1.3
DEVICES = ("neuron", "cpu")


def trainer(device: str) -> Callable[[], None]:
    """One training step of a two-layer transformer on constant data."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    data = torch.randn(16, 64, 128).to(device)

    def step() -> None:
        optimizer.zero_grad()
        (model(data) - data).square().mean().backward()
        optimizer.step()

    return step


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def host_memory(steps: int) -> list[int]:
    """Resident bytes after 10 steps and after `steps` more."""
    step = trainer("neuron")
    sizes = []
    for count in (10, steps):
        for _ in range(count):
            step()
        torch.neuron.synchronize()
        sizes.append(resident())
    return sizes


def neuron_peak() -> int:
    step = trainer("neuron")
    for _ in range(3):
        step()
    torch.neuron.synchronize()
    torch.neuron.reset_peak_memory_stats()
    step()
    torch.neuron.synchronize()
    return torch.neuron.max_memory_allocated()


def cpu_peak() -> int:
    """Highest sum of the allocator's bytes, over set-up and four steps."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step = trainer("cpu")
        for _ in range(4):
            step()
    held = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    figures = {"neuron_peak": neuron_peak(), "cpu_peak": cpu_peak()}
    figures["host_before"], figures["host_after"] = host_memory(args.steps)
    ratio = figures["neuron_peak"] / figures["cpu_peak"]
    drift = figures["host_after"] / figures["host_before"] - 1
    peaks = ", ".join(f"{name} {figures[f'{name}_peak'] / 2**20:.1f} MiB" for name in DEVICES)
    print(f"peak of a step: {peaks}, ratio {ratio:.2f} (target {PEAK_RATIO})")
    print(f"host memory after {args.steps} steps: {drift:+.1%} (target within {STABLE:.0%})")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(figures | {"ratio": ratio, "drift": drift}, file, indent=1)
    return 0 if ratio <= PEAK_RATIO and drift <= STABLE else 1


if __name__ == "__main__":
    sys.exit(main())
