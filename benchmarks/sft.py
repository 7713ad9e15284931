"""Supervised fine-tuning of a small Qwen3 on real text: neuron against the CPU, step by step.

The model learns to answer `help("topic")` with Python's own reference. Four copies of it take the
same steps, eager and compiled on either device, in turns: each round is one step of each, so that
what else the machine does falls on all of them. Compared are their losses; counted, what fell back
to the host and what was compiled after all shapes had been seen; timed, the step.
"""

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SEEN = 3  # steps after which every shape has been seen
RUNS = {
    "CPU": ("cpu", None),
    "CPU, Inductor": ("cpu", "inductor"),
    "neuron": ("neuron", None),
    "neuron, compiled": ("neuron", "neuron"),
}


def samples(tokenizer, length: int) -> list[dict[str, list[int]]]:
    """Questions and answers, padded or cut to `length` tokens; losses are of the answers alone.

    What pads is behind the answer, where no token that counts sees it, so there is no mask.
    """
    from pydoc_data import topics

    made = []
    for topic, text in topics.topics.items():
        question = tokenizer(f'help("{topic}")\n').input_ids
        answer = tokenizer(text[: 8 * length]).input_ids
        for start in range(0, len(answer), length - len(question)):
            part = answer[start : start + length - len(question)]
            rest = length - len(question) - len(part)
            made.append(
                {
                    "input_ids": question + part + rest * [tokenizer.pad_token_id],
                    "labels": len(question) * [-100] + part + rest * [-100],
                }
            )
    return made


def trained(device: str, backend: str | None, args: argparse.Namespace, tokenizer) -> Iterator:
    """Yields (loss, seconds, programs needed) of one step after the other."""
    import summary
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM, get_cosine_schedule_with_warmup

    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=args.width,
            intermediate_size=3 * args.width,
            num_hidden_layers=args.layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=args.width // 4,
            tie_word_embeddings=True,
            use_cache=False,
        )
    ).to(device)
    forward: Callable = torch.compile(model, backend=backend) if backend else model
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, fused=True)
    schedule = get_cosine_schedule_with_warmup(optimizer, args.steps // 10, args.steps)
    data = samples(tokenizer, args.length)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0)).tolist()
    for step in range(args.steps):
        before, start = summary.programs(device), time.perf_counter()
        picked = [data[order[(step * args.batch + i) % len(order)]] for i in range(args.batch)]
        batch = {
            name: torch.tensor([sample[name] for sample in picked]).to(device) for name in picked[0]
        }
        loss = forward(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        yield loss.item(), time.perf_counter() - start, summary.programs(device) - before


def tolerance(args: argparse.Namespace) -> float:
    """How far losses may differ, relative to them: a rounding for each number added on the way.

    Roundings are as often up as down, so that `n` of them add up to the order of sqrt(n).
    """
    layer = 2 * args.width + args.length + args.width + 3 * args.width  # the longest sums of one
    step = 2 * (args.layers * layer + args.width + args.vocabulary)  # there and back
    return 2**-23 * math.sqrt(args.steps * step)


def measure(args: argparse.Namespace) -> dict[str, list[tuple[float, float, int]]]:
    import corpus
    from tqdm import tqdm

    tokenizer = corpus.tokenizer_for(corpus.articles(), args.vocabulary)
    steps = {name: trained(*run, args, tokenizer) for name, run in RUNS.items()}
    results: dict[str, list[tuple[float, float, int]]] = {name: [] for name in RUNS}
    for _ in tqdm(range(args.steps), unit="round"):
        for name, run in steps.items():
            results[name].append(next(run))
    return results


def show(results: dict[str, list[tuple[float, float, int]]], args: argparse.Namespace) -> bool:
    """Prints the tables; whether all targets are met."""
    import torch

    import torch_neuronx

    want, bound = [loss for loss, _, _ in results["CPU"]], tolerance(args)
    print(f"{args.steps} steps, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}\n")
    print("| run | first loss | last loss | largest difference to CPU | steady step, ms | ", end="")
    print(f"programs after step {SEEN} |\n|---|---|---|---|---|---|")
    met = True
    for name, steps in results.items():
        losses, seconds, programs = zip(*steps, strict=True)
        apart = max(abs(got - loss) / loss for got, loss in zip(losses, want, strict=True))
        steady = statistics.median(seconds[SEEN:]) * 1e3
        late = sum(programs[SEEN:])
        cells = [
            f"{losses[0]:.4f}",
            f"{losses[-1]:.4f}",
            f"{apart:.1e}",
            f"{steady:.0f}",
            str(late),
        ]
        print(f"| {name} | {' | '.join(cells)} |")
        met &= apart <= bound and late == 0
    fallbacks = torch_neuronx.get_fallback_ops()
    print(f"\ntolerance of a difference: {bound:.1e}")
    print(f"fallbacks to the host: {', '.join(fallbacks) or 0}")
    return met and not fallbacks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    defaults = {"steps": 40, "batch": 4, "length": 128, "vocabulary": 2048}
    defaults |= {"width": 256, "layers": 4, "lr": 1e-3, "threads": os.cpu_count()}
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    arguments = parser.parse_args()
    # Before torch is imported: OpenMP's threads and the plugin's are as many as there are cores.
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    sys.path.append(str(Path(__file__).parents[1] / "examples"))
    sys.exit(not show(measure(arguments), arguments))
