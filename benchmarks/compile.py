"""torch.compile on neuron against Inductor and CPU eager: the first training step and later ones.

One process per backend, alternating, each with empty caches, and one more that finds what it left.
The figures are medians over the rounds. "Cold compile" is what the empty cache costs: the
difference of the two first steps. Then, in one process, the cost of calling a graph of ten inputs.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

BACKENDS = ("neuron", "inductor", "eager")
STEPS = 10
COLD_SHARE, STEADY_RATIO, CALL_US = 1 / 5, 1.1, 30  # targets
Batch = tuple[torch.Tensor, torch.Tensor]


class LanguageModel(nn.Module):
    """GPT-2 with 6 layers, as transformers builds it: 768 wide, 12 heads, 50257 tokens."""

    def __init__(self) -> None:
        super().__init__()
        import transformers

        transformers.logging.set_verbosity_error()
        config = transformers.GPT2Config(n_layer=6, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0)
        self.gpt = transformers.GPT2LMHeadModel(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gpt(x, use_cache=False).logits.flatten(0, 1)


class Block(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
        same = stride == 1 and inner == outer
        shortcut = nn.Sequential(
            nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
        )
        self.shortcut = nn.Identity() if same else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))
        return (y + self.shortcut(x)).relu()


def resnet18() -> nn.Module:
    """He et al. (2016), for small images: a 3x3 stem without pooling."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    for inner, outer in pairwise((64, 64, 64, 128, 128, 256, 256, 512, 512)):
        layers.append(Block(inner, outer, 1 if inner == outer else 2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Recurrent(nn.Module):
    """An LSTM cell over 32 steps, and its last state classified.

    Not nn.LSTM, which Dynamo leaves to eager.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(64, 128), nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.head(state[0])


def text() -> Batch:
    tokens = torch.randint(50257, (1, 128))
    return tokens, tokens.roll(-1, 1).flatten()


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Batch]]] = {
    "GPT-2, 6 layers": (LanguageModel, text),
    "ResNet-18": (resnet18, lambda: (torch.randn(8, 3, 32, 32), torch.randint(10, (8,)))),
    "LSTM": (Recurrent, lambda: (torch.randn(16, 32, 64), torch.randint(10, (16,)))),
}


def train(name: str, backend: str) -> dict[str, float]:
    """Seconds of the first step and of a later one, and the last loss."""
    torch.manual_seed(0)
    make, batch = MODELS[name]
    device = "neuron" if backend == "neuron" else "cpu"
    model, (x, target) = make(), batch()
    model, x, target = model.to(device), x.to(device), target.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    forward = model if backend == "eager" else torch.compile(model, backend=backend)

    def step() -> tuple[float, float]:
        start = time.perf_counter()
        loss = nn.functional.cross_entropy(forward(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item(), time.perf_counter() - start

    first = step()[1]
    later = [step() for _ in range(STEPS)]
    return {"first": first, "steady": statistics.median(t for _, t in later), "loss": later[-1][0]}


def call_overhead() -> dict[str, float]:
    """Microseconds of a call that adds ten 4x4 tensors."""
    result = {}
    for backend in ("neuron", "inductor"):
        device = "neuron" if backend == "neuron" else "cpu"
        inputs = [torch.ones(4, 4, device=device) for _ in range(10)]
        total = torch.compile(lambda *xs: sum(xs[1:], xs[0]), backend=backend)
        call = functools.partial(total, *inputs)
        result[backend] = statistics.median(_microseconds(call) for _ in range(9))
    return result


def _microseconds(call: Callable[[], object], calls: int = 1000) -> float:
    call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


@contextmanager
def empty_caches() -> Iterator[dict[str, str]]:
    """An environment whose caches are new folders."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("TORCH_NEURONX_NEFF_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
        yield {**os.environ, **{name: str(Path(folder, name)) for name in names}}


def in_a_process(environment: dict[str, str], *arguments: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


Figures = dict[str, dict[str, dict[str, float]]]  # model -> backend -> figure -> value


def measure(rounds: int) -> Figures:
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name in MODELS:
            for backend in BACKENDS:
                with empty_caches() as environment:
                    cold = in_a_process(environment, name, backend)
                    warm = in_a_process(environment, name, backend)
                run = {**cold, "warm": warm["first"], "compile": cold["first"] - warm["first"]}
                runs.setdefault((name, backend), []).append(run)
    table: Figures = {}
    for (name, backend), results in runs.items():
        medians = {key: statistics.median(r[key] for r in results) for key in results[0]}
        table.setdefault(name, {})[backend] = medians
    return table


def show(table: Figures, overhead: dict[str, float]) -> bool:
    """Prints the table; whether all targets are met."""
    met = overhead["neuron"] <= CALL_US
    print(
        "| model | backend | first step, s | first step, warm cache, s | cold compile, s ", end=""
    )
    print("| steady step, ms | loss |\n|---|---|---|---|---|---|---|")
    for name, backends in table.items():
        for backend, r in backends.items():
            seconds = " | ".join(f"{r[key]:.2f}" for key in ("first", "warm", "compile"))
            print(f"| {name} | {backend} | {seconds} | {r['steady'] * 1e3:.1f} | {r['loss']:.4f} |")
        ours, theirs = backends["neuron"], backends["inductor"]
        share = {key: ours[key] / theirs[key] for key in ours}
        ratios = " | ".join(f"{share[key]:.2f}" for key in ("first", "warm", "compile", "steady"))
        print(f"| {name} | neuron / inductor | {ratios} | |")
        met &= share["compile"] <= COLD_SHARE
        met &= share["steady"] <= STEADY_RATIO or not name.startswith("GPT-2")
    for backend, microseconds in overhead.items():
        print(f"call of a 10-input graph, {backend}: {microseconds:.1f} us (target {CALL_US})")
    return met


def plot(table: Figures, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    figures = (("first", "first training step, s"), ("steady", "steady training step, s"))
    for axis, (key, title) in zip(axes, figures, strict=True):
        for i, backend in enumerate(BACKENDS):
            heights = [backends[backend][key] for backends in table.values()]
            axis.bar([n + 0.25 * i for n in range(len(table))], heights, 0.25, label=backend)
        axis.set(title=title, yscale="log")
        axis.set_xticks([n + 0.25 for n in range(len(table))], list(table))
    axes[0].legend()
    figure.savefig(path)
    print(f"plot: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plot", default="docs/compile.png")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "BACKEND"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(train(*arguments.one)))
        sys.exit()
    measured = measure(arguments.rounds)
    all_met = show(measured, call_overhead())
    plot(measured, arguments.plot)
    sys.exit(not all_met)
