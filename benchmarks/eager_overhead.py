"""What a call costs on neuron against PyTorch CPU, in one process.

Each case runs in alternating blocks, one per device, so that a change in the machine's speed
touches both; the figure is the ratio of the medians. A neuron block ends when its device is idle.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

DEVICES = ("neuron", "cpu")
Work = Callable[[], object]


@dataclass
class Result:
    case: str
    neuron_us: float  # per call
    cpu_us: float
    ratio: float
    target: float

    @property
    def met(self) -> bool:
        return self.ratio <= self.target


def add_small(device: str) -> Work:
    x, y = torch.ones(4, 4, device=device), torch.ones(4, 4, device=device)
    return lambda: torch.add(x, y)


def pointwise_chain(device: str) -> Work:
    x = torch.linspace(0, 1, 1_000_000).to(device)

    def chain() -> torch.Tensor:
        y = x
        for _ in range(4):
            y = ((y * 1.01 + 0.1).sin() - x).abs()
        return y

    assert 4 * 5 == 20
    return chain


def optimizer_step(**options: bool) -> Callable[[str], Work]:
    def make(device: str) -> Work:
        generator = torch.Generator().manual_seed(0)
        shapes = [(128, 128)] * 75 + [(128,)] * 75
        values = [torch.randn(shape, generator=generator) for shape in shapes]
        parameters = [torch.nn.Parameter(value.to(device)) for value in values]
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 0.1)
        return torch.optim.AdamW(parameters, **options).step

    return make


# Case -> (work on a device, calls per block, highest ratio allowed).
CASES: dict[str, tuple[Callable[[str], Work], int, float]] = {
    "add of 4x4": (add_small, 1000, 2.5),
    "chain of 20 pointwise ops, 1M floats": (pointwise_chain, 5, 1.5),
    "AdamW fused, 150 tensors": (optimizer_step(fused=True), 5, 1.5),
    "AdamW foreach, 150 tensors": (optimizer_step(foreach=True), 5, 1.5),
}


def block(work: Work, calls: int, device: str) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        work()
    if device == "neuron":
        torch.neuron.synchronize()
    return (time.perf_counter() - start) / calls


def measure(case: str, rounds: int) -> Result:
    make, calls, target = CASES[case]
    works = {device: make(device) for device in DEVICES}
    for device in DEVICES:  # compiles, and fills the caches of both
        block(works[device], calls, device)
    times: dict[str, list[float]] = {device: [] for device in DEVICES}
    for _ in range(rounds):
        for device in DEVICES:
            times[device].append(block(works[device], calls, device))
    neuron, cpu = (statistics.median(times[device]) * 1e6 for device in DEVICES)
    return Result(case, neuron, cpu, neuron / cpu, target)


def transposed_matmul() -> dict[str, int]:
    """Programs launched and bytes allocated by x.t() @ w, beside its result."""
    from torch_neuronx import _C

    x, w = torch.ones(256, 128).to("neuron"), torch.ones(256, 64).to("neuron")
    (x.t() @ w).cpu()
    torch.neuron.synchronize()
    _C.clear_op_tracking()
    before = torch.neuron.memory_allocated()
    torch.neuron.reset_peak_memory_stats()
    product = x.t() @ w
    torch.neuron.synchronize()
    extra = torch.neuron.max_memory_allocated() - before - product.nbytes
    return {"programs": sum(_C.executed_ops().values()), "bytes copied": extra}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    results = [measure(case, args.rounds) for case in CASES]
    print(f"{'case':<40}{'neuron us':>12}{'cpu us':>12}{'ratio':>8}{'target':>8}")
    for r in results:
        line = f"{r.case:<40}{r.neuron_us:>12.2f}{r.cpu_us:>12.2f}{r.ratio:>8.2f}{r.target:>8}"
        print(line if r.met else f"{line}  missed")
    matmul = transposed_matmul()
    print(f"x.t() @ w: {matmul['programs']} program, {matmul['bytes copied']} bytes copied")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"cases": [asdict(r) for r in results], "x.t() @ w": matmul}, file, indent=1)
    return 0 if all(r.met for r in results) and matmul == {"programs": 1, "bytes copied": 0} else 1


if __name__ == "__main__":
    sys.exit(main())
