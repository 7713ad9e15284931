"""Trains a small vision transformer of timm on scikit-learn's handwritten digits.

1,797 images of 8x8 pixels, a fifth of them held out. Model, optimizer, schedule and loss are
timm's; what knows the device is `.to(device)`. `--compile` compiles forward and backward.
"""

import argparse
import statistics
import time

import summary
import timm
import timm.loss
import timm.optim
import timm.scheduler
import torch
from sklearn.datasets import load_digits
from tqdm import tqdm

SIZE, PATCH, CLASSES = 8, 2, 10


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images (N, 1, 8, 8) in -1 to 1 and labels (N), to train with and held out."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 8 - 1
    labels = torch.tensor(data.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    held_out, training = order[: len(order) // 5], order[len(order) // 5 :]
    return images[training], labels[training], images[held_out], labels[held_out]


def main(argv: list[str] | None = None) -> dict[str, list[float]]:
    args = parser().parse_args(argv)
    torch.manual_seed(args.seed)
    model = timm.create_model(
        "vit_tiny_patch16_224",
        img_size=SIZE,
        patch_size=PATCH,
        in_chans=1,
        num_classes=CLASSES,
        depth=args.depth,
        embed_dim=args.width,
        num_heads=4,
    ).to(args.device)
    x, y, x_held_out, y_held_out = (part.to(args.device) for part in digits())
    optimizer = timm.optim.create_optimizer_v2(model, "adamw", lr=args.lr, weight_decay=0.05)
    schedule = timm.scheduler.CosineLRScheduler(optimizer, args.steps, warmup_t=args.steps // 20)
    loss_of = timm.loss.LabelSmoothingCrossEntropy(0.1)
    if args.compile:
        model = torch.compile(model, backend="inductor" if args.device == "cpu" else "neuron")

    order = torch.Generator().manual_seed(args.seed)
    losses, seconds, programs = [], [], []
    bar = tqdm(range(args.steps), unit="step")
    for step in bar:
        start = time.perf_counter()
        picked = torch.randint(len(x), (args.batch,), generator=order).to(args.device)
        loss = loss_of(model(x[picked]), y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
        programs.append(summary.programs(args.device))
        speed = args.batch / statistics.median(seconds[-20:])
        bar.set_postfix_str(f"loss {losses[-1]:.3f}, {speed:,.0f} images/s")

    model.eval()
    with torch.no_grad():
        found = model(x_held_out).argmax(1)
    accuracy = (found == y_held_out).float().mean().item()
    steady = statistics.median(seconds[len(seconds) // 2 :])
    summary.show(
        args.device,
        {
            "training loss, last": f"{losses[-1]:.4f}",
            "accuracy, held out": f"{accuracy:.1%}",
            "steady step": f"{steady * 1e3:.1f} ms",
            "images/s": f"{args.batch / steady:,.0f}",
            "new programs after step 3": str(programs[-1] - programs[:3][-1]),
        },
    )
    return {"losses": losses, "accuracy": [accuracy], "programs": programs}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--device", choices=("neuron", "cpu"), default="neuron")
    made.add_argument("--compile", action="store_true", help="torch.compile the model")
    numbers = {"steps": 500, "batch": 64, "width": 64, "depth": 3, "lr": 3e-3, "seed": 0}
    for name, value in numbers.items():
        made.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    return made


if __name__ == "__main__":
    main()
