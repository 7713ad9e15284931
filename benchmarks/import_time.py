"""What the backend adds to `import torch`, and that it opens neither jaxlib nor a plugin.

In a fresh process torch is imported without its autoload, then the backend is imported and
registered as autoload would do it, under the clock. The median of several processes; the first,
which writes bytecode, is left out. (`python -X importtime` shows the modules, but not the
registration, and not the backend itself, for torch loads it through importlib.)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

TARGET_MS = 60.0
PROBE = """
import json, sys, time
import torch
start = time.perf_counter()
import torch_neuronx
share = (time.perf_counter() - start) * 1000
assert torch.neuron.is_available()
opened = [name for name in ("jax", "jaxlib") if name in sys.modules]
opened += [line.split()[-1] for line in open("/proc/self/maps") if "pjrt" in line]
print(json.dumps([share, sorted(set(opened))]))
"""


def once() -> tuple[float, list[str]]:
    """Milliseconds in one process, and what it opened that it should not have."""
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        stdout=subprocess.PIPE,
        check=True,
    )
    share, opened = json.loads(result.stdout)
    return share, opened


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    once()
    runs = [once() for _ in range(args.rounds)]
    share = statistics.median(milliseconds for milliseconds, _ in runs)
    opened = sorted({path for _, paths in runs for path in paths})
    print(f"the backend's share of `import torch`: {share:.1f} ms (target {TARGET_MS:.0f})")
    print(f"opened meanwhile: {', '.join(opened) or 'nothing'}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"import_ms": share, "opened": opened}, file, indent=1)
    return 0 if share <= TARGET_MS and not opened else 1


if __name__ == "__main__":
    sys.exit(main())
