"""Trains a byte-level GPT on the documentation that ships with every Python.

Plain PyTorch: what knows the device is `.to(device)`. `--device cpu` runs the same program, and
`--compile neuron` (on a CPU `--compile inductor`) compiles the model's forward and backward.
"""

import argparse
import math
import resource
import statistics
import time
from pydoc_data import topics

import matplotlib.pyplot
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

# Shape suffixes: B batch, T time (bytes of context), C channels, H heads, D channels of a head.
LAYERS, HEADS, CHANNELS, CONTEXT, BYTES = 4, 4, 256, 128, 256


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(CHANNELS), nn.LayerNorm(CHANNELS)
        self.qkv = nn.Linear(CHANNELS, 3 * CHANNELS, bias=False)
        self.project = nn.Linear(CHANNELS, CHANNELS, bias=False)
        wide = 4 * CHANNELS
        self.mlp = nn.Sequential(nn.Linear(CHANNELS, wide), nn.GELU(), nn.Linear(wide, CHANNELS))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTC: torch.Tensor) -> torch.Tensor:
        qkv_BT3HD = self.qkv(self.norm1(x_BTC)).unflatten(-1, (3, HEADS, -1))
        q_BHTD, k_BHTD, v_BHTD = qkv_BT3HD.permute(2, 0, 3, 1, 4)
        drop = self.dropout.p if self.training else 0.0
        y_BHTD = F.scaled_dot_product_attention(q_BHTD, k_BHTD, v_BHTD, None, drop, is_causal=True)
        x_BTC = x_BTC + self.dropout(self.project(y_BHTD.transpose(1, 2).flatten(2)))
        return x_BTC + self.dropout(self.mlp(self.norm2(x_BTC)))


class GPT(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(BYTES, CHANNELS)
        self.positions = nn.Parameter(torch.zeros(CONTEXT, CHANNELS))
        self.blocks = nn.Sequential(*(Block(dropout) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(CHANNELS), nn.Linear(CHANNELS, BYTES, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, text_BT: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.tokens(text_BT) + self.positions)))


def loss_of(model: nn.Module, text_BT: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each byte given those before it, in nats."""
    return F.cross_entropy(model(text_BT[:, :-1]).flatten(0, 1), text_BT[:, 1:].flatten())


def batches(text: torch.Tensor, size: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(len(text) - CONTEXT, (size, 1), generator=generator)
        yield text[starts + torch.arange(CONTEXT + 1)]


def schedule(step: int, steps: int) -> float:
    """Linear warm-up over a twentieth of the run, and a cosine down to a tenth."""
    return min(20 * (step + 1) / steps, 0.55 + 0.45 * math.cos(math.pi * step / steps))


@torch.no_grad()
def sample(model: nn.Module, text_BT: torch.Tensor, count: int) -> str:
    made = []
    for _ in range(count):  # a window of constant length: every step is the same programs
        made.append(torch.multinomial((model(text_BT)[:, -1] / 0.8).softmax(-1), 1))
        text_BT = torch.cat([text_BT[:, 1:], made[-1]], dim=1)
    return bytes(torch.cat(made, 1)[0].tolist()).decode(errors="replace")


def train(args: argparse.Namespace) -> None:
    torch.manual_seed(args.seed)
    device = args.device
    text = torch.tensor(list("\n\n".join(topics.topics.values()).encode()))
    training, held_out = text.split([len(text) * 9 // 10, len(text) - len(text) * 9 // 10])
    model = GPT(args.dropout).to(device)
    if args.compile:
        model = torch.compile(model, backend=args.compile)
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: schedule(s, args.steps))
    losses, seconds, compiled = [], [], [0]
    data = batches(training, args.batch, args.seed)
    bar = tqdm(range(args.steps), unit="step")
    for step in bar:
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model, next(data).to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
        speed = args.batch * CONTEXT / statistics.median(seconds[-20:])
        bar.set_postfix_str(f"loss {losses[-1]:.3f}, {speed:,.0f} tokens/s")
        if step == 2 or step == args.steps - 1:
            compiled.append(sum(programs(device).values()))
    model.eval()
    with torch.no_grad():
        data = batches(held_out, args.batch, args.seed)
        validation = [loss_of(model, next(data).to(device)).item() for _ in range(20)]
    print(f"\n{sample(model, held_out[None, :CONTEXT].to(device), args.sample)}\n")
    report(device, losses, statistics.mean(validation), seconds, compiled[-1] - compiled[1])
    plot(losses, args.plot)


def programs(device: str) -> dict[str, int]:
    """How many programs each tier of the executable cache has answered for so far."""
    if device == "cpu":
        return {}
    import torch_neuronx

    return torch_neuronx.cache_info().requests


def report(device: str, losses: list, validation: float, seconds: list, late: int) -> None:
    rows = {"training loss": f"{losses[-1]:.4f}", "validation loss": f"{validation:.4f}"}
    rows["steady step"] = f"{statistics.median(seconds[len(seconds) // 2 :]) * 1e3:.1f} ms"
    if device == "cpu":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    else:
        import torch_neuronx

        peak = torch.accelerator.max_memory_allocated()
        rows |= {f"programs from {tier}": str(n) for tier, n in programs(device).items()}
        rows["new programs after step 3"] = str(late)
        rows["fallbacks to the host"] = ", ".join(torch_neuronx.get_fallback_ops()) or "0"
    rows["peak memory"] = f"{peak / 2**20:.0f} MiB"
    print("\n".join(f"{name:<28}{value:>14}" for name, value in rows.items()))


def plot(losses: list[float], path: str) -> None:
    matplotlib.use("Agg")
    figure, axes = matplotlib.pyplot.subplots()
    axes.plot(losses)
    axes.set(xlabel="step", ylabel="training loss (nats per byte)")
    figure.savefig(path)
    print(f"loss curve: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    defaults = {"device": "neuron", "steps": 500, "batch": 8, "lr": 1e-3, "dropout": 0.1}
    defaults |= {"seed": 0, "sample": 300, "plot": "train_gpt.png", "compile": ""}
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    train(parser.parse_args())
