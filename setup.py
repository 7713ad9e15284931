"""Builds the one extension, torch_neuronx._C, from csrc/**/*.cpp with ninja.

Metadata is in pyproject.toml; only what depends on the torch built against is here. Rebuilds
are by dependency: an unchanged tree costs one ninja start, a changed header what includes it.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from find_torch import SUPPORTED_TORCH, find_torch
from ninja_build import NinjaBuild

ROOT = Path(__file__).parent.resolve()
TORCH = find_torch()


class BuildCore(build_ext):
    """Hands the whole extension to ninja and records the torch it was built against."""

    def build_extension(self, ext: Extension) -> None:
        if TORCH is None:
            raise SystemExit(f"no torch to build against: pip install '{SUPPORTED_TORCH}' first")
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        # Not self.build_temp, which is a new folder for each editable install.
        build = NinjaBuild(ROOT, TORCH, ROOT / "build" / f"core-{sys.implementation.cache_tag}")
        library = build.run(jobs=self.parallel or os.cpu_count() or 1)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.stat().st_mtime_ns < library.stat().st_mtime_ns:
            # Replaced, never overwritten: a running process may have the old file mapped.
            partial = target.with_suffix(".new")
            shutil.copyfile(library, partial)
            os.replace(partial, target)
        self._write_build_info(target.parent)

    def copy_extensions_to_source(self) -> None:
        super().copy_extensions_to_source()  # build_ext --inplace and editable installs
        self._write_build_info(ROOT / "torch_neuronx")

    def _write_build_info(self, folder: Path) -> None:
        path = folder / "_build_info.py"
        text = (
            '"""Written by setup.py: what torch_neuronx._C was compiled from and against."""\n\n'
            f'TORCH_VERSION = "{TORCH.version}"\n'
            f'CORE_SOURCES = "{core_sources()}"  # a hash, for the executable cache\n'
        )
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def core_sources() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted((ROOT / "csrc").rglob("*.[hc]*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def runtime_requirements() -> list[str]:
    # A built core runs with the release of torch it was compiled for and no other.
    torch = f"torch=={TORCH.release}" if TORCH else SUPPORTED_TORCH
    return [torch, "numpy>=1.26", "jaxlib==0.10.2", "lammps-jax-pjrt-cpu==0.11.2"]


setup(
    ext_modules=[Extension("torch_neuronx._C", sources=[])],
    cmdclass={"build_ext": BuildCore},
    install_requires=runtime_requirements(),
)
