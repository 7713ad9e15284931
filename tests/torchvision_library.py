"""Makes the package index's torchvision usable beside a torch for the CPU.

That wheel is linked against the libraries of a torch for CUDA. Where torch is one for the CPU, they
do not exist, torchvision's own library is not loaded, and `import torchvision` fails, and with it
timm. The library's CPU kernels need none of them; so the loader gets empty ones of the same names,
and torchvision itself is as its authors built it.
"""

import ctypes
import importlib.util
import os
import re
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "cuda-stand-ins"
CUDA_NAMES = re.compile(r"_ZNK?(3c10|2at)4cuda")  # c10::cuda and at::cuda, as compilers write it
LIBRARIES = ("libcudart.so.13", "libc10_cuda.so", "libtorch_cuda.so")


def load():
    """Loads torchvision's library, where it is installed; also for the processes of this one."""
    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        return
    import torch  # noqa: F401 - its libraries are what torchvision's is linked against, too

    library = Path(found.origin).parent / "_C.so"
    try:
        ctypes.CDLL(str(library))
        return
    except OSError:
        _build(library)
    for name in LIBRARIES:
        ctypes.CDLL(str(FOLDER / name), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(library))
    paths = [str(FOLDER), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(paths)


def _build(library):
    """Libraries of the names that `library` asks for, whose functions do nothing."""
    if all((FOLDER / name).exists() for name in LIBRARIES):
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", library], capture_output=True, text=True, check=True
    )
    functions: dict = {name: [] for name in LIBRARIES}
    for line in listed.stdout.splitlines():
        symbol, _, version = line.split()[-1].partition("@")
        if version in functions:
            functions[version].append(symbol)
        elif CUDA_NAMES.match(symbol):
            functions["libc10_cuda.so"].append(symbol)
    for name in LIBRARIES:
        _link(name, functions[name])


def _link(name, functions):
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        source, versions, result = (Path(folder, part) for part in ("f.c", "versions", name))
        source.write_text("".join(f"void *{f}(void) {{ return 0; }}\n" for f in functions))
        versions.write_text(f"{name} {{ global: *; }};\n")
        options = ["-shared", "-fPIC", f"-Wl,-soname,{name}", f"-Wl,--version-script={versions}"]
        subprocess.run(
            [os.environ.get("CC", "cc"), *options, "-w", "-o", result, source], check=True
        )
        result.replace(FOLDER / name)  # at once, for another process may be looking
