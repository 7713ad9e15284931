"""Trains a small UNet of diffusers to remove noise from digits (DDPM), then draws digits with DDIM.

The images are scikit-learn's, 8x8 pixels; each digit is drawn from noise in `--draws` steps, and a
grid of them is saved as a PNG beside some of the real ones.
"""

import argparse
import statistics
import time

import summary
import torch
import torch.nn.functional as F
from diffusers import DDIMPipeline, DDIMScheduler, DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel
from PIL import Image
from sklearn.datasets import load_digits
from tqdm import tqdm

SIZE, GRID = 8, 8  # pixels of an image, images along a side of the picture


def picture(images_N1HW: torch.Tensor) -> torch.Tensor:
    """A grid (H, W) of bytes out of GRID*GRID images in -1 to 1, a pixel of border around each."""
    bytes_NHW = ((images_N1HW[:, 0].clamp(-1, 1) + 1) * 127.5).round().byte()
    framed = F.pad(bytes_NHW, (1, 1, 1, 1), value=64)
    rows = framed.unflatten(0, (GRID, GRID)).transpose(1, 2)
    return rows.reshape(GRID * (SIZE + 2), GRID * (SIZE + 2))


def main(argv: list[str] | None = None) -> dict[str, torch.Tensor | list[float]]:
    args = parser().parse_args(argv)
    torch.manual_seed(args.seed)
    images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 8 - 1
    model = UNet2DModel(
        sample_size=SIZE,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(args.width, args.width),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
    ).to(args.device)
    if args.compile:
        model.compile(backend="inductor" if args.device == "cpu" else "neuron")
    noising = DDPMScheduler(1000, beta_schedule="squaredcos_cap_v2")
    optimizer = torch.optim.AdamW(model.parameters(), args.lr)
    average = EMAModel(model.parameters(), decay=0.995, use_ema_warmup=True, power=3 / 4)

    numbers = torch.Generator().manual_seed(args.seed)  # on the CPU: the same for every device
    losses, seconds = [], []
    bar = tqdm(range(args.steps), unit="step")
    for _ in bar:
        start = time.perf_counter()
        picked = torch.randint(len(images), (args.batch,), generator=numbers)
        clean = images[picked].to(args.device)
        noise = torch.randn(clean.shape, generator=numbers).to(args.device)
        times = torch.randint(len(noising), (args.batch,), generator=numbers).to(args.device)
        found = model(noising.add_noise(clean, noise, times), times).sample
        loss = F.mse_loss(found, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.step(model.parameters())
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
        bar.set_postfix_str(f"loss {statistics.mean(losses[-50:]):.3f}")

    average.copy_to(model.parameters())
    pipeline = DDIMPipeline(model, DDIMScheduler.from_config(noising.config))
    start = time.perf_counter()
    drawn = pipeline(GRID * GRID, numbers, num_inference_steps=args.draws, output_type="np").images
    drawing = time.perf_counter() - start
    drawn = torch.from_numpy(drawn).permute(0, 3, 1, 2) * 2 - 1
    both = torch.cat([picture(drawn), picture(images[: GRID * GRID])], dim=1)
    scale = both.repeat_interleave(6, 0).repeat_interleave(6, 1)
    Image.fromarray(scale.numpy()).save(args.picture)
    print(f"drawn on the left, real on the right: {args.picture}")
    steady = statistics.median(seconds[len(seconds) // 2 :])
    summary.show(
        args.device,
        {
            "loss, mean of the last 50": f"{statistics.mean(losses[-50:]):.4f}",
            "steady step": f"{steady * 1e3:.1f} ms",
            "images/s, training": f"{args.batch / steady:,.0f}",
            f"{GRID * GRID} digits in {args.draws} steps": f"{drawing:.1f} s",
        },
    )
    return {"losses": losses, "drawn": drawn}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--device", choices=("neuron", "cpu"), default="neuron")
    made.add_argument("--compile", action="store_true", help="torch.compile the model")
    made.add_argument("--picture", default="diffusion.png", help="where the drawn digits go")
    numbers = {"steps": 400, "batch": 32, "width": 32, "draws": 25, "lr": 2e-3, "seed": 0}
    for name, value in numbers.items():
        made.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    return made


if __name__ == "__main__":
    main()
