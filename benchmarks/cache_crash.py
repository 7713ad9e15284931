"""Kills processes that fill one executable cache, and checks that no later run is wrong.

At each of the moments, four processes run the same small programs over one cache folder, half of
them new ones; all are killed (SIGKILL) after a random time. Then one more process runs them all and
compares every result with CPU.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROCESSES = 4


def work(seed: int) -> None:
    """The program of a process: ops of many shapes, each checked against CPU."""
    import torch

    generator = random.Random(seed)
    for size in generator.sample(range(1, 400), 60):
        x = torch.arange(float(size))
        on_device = x.to("neuron")
        for op in (torch.sin, torch.cumsum, torch.outer):
            arguments = {torch.sin: (), torch.cumsum: (0,), torch.outer: (x[:3],)}[op]
            moved = [a.to("neuron") if isinstance(a, torch.Tensor) else a for a in arguments]
            torch.testing.assert_close(op(on_device, *moved).cpu(), op(x, *arguments))


def start(seed: int, folder: str) -> subprocess.Popen:
    environment = os.environ | {"TORCH_NEURONX_NEFF_CACHE_DIR": folder}
    return subprocess.Popen(
        [sys.executable, __file__, "--work", str(seed)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_at_a_random_moment(seed: int, folder: str, longest: float) -> str:
    """Runs, kills, and returns what a process that ended by itself had to complain about."""
    processes = [start(seed * PROCESSES + i, folder) for i in range(PROCESSES)]
    time.sleep(random.Random(seed).uniform(0.5, longest))
    for process in processes:
        process.send_signal(signal.SIGKILL)
    complaints = []
    for process in processes:
        _, errors = process.communicate()
        if process.returncode not in (0, -signal.SIGKILL):
            complaints.append(errors[-2000:])
    return "\n".join(complaints)


def check(seed: int, folder: str) -> str:
    """Empty when a whole run over what the killed ones left is right."""
    process = start(seed, folder)
    _, errors = process.communicate()
    return errors[-2000:] if process.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--longest", type=float, default=8.0, help="seconds before a kill")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work is not None:
        work(args.work)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        failures = []
        for moment in range(args.moments):
            failures += filter(None, [
                kill_at_a_random_moment(moment, folder, args.longest),
                check(moment * PROCESSES, folder),
            ])  # fmt: skip
            print(f"\r{moment + 1}/{args.moments} moments, {len(failures)} wrong", end="")
        left = sum(name.endswith(".partial") for _, _, files in os.walk(folder) for name in files)
    print(f"\n{args.moments} kills of {PROCESSES} processes: {len(failures)} later runs wrong, "
          f"{left} unfinished files left aside")  # fmt: skip
    print("\n".join(failures), end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
