"""Writes build.ninja for the C++ core and runs it.

Called by setup.py. One precompiled header over torch's and pybind11's headers takes a source
file from about 25 seconds to a few; ninja keeps the dependencies that the compiler reports.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from find_torch import Torch

# What nearly every source file includes. Part of the build, not of the code: each source still
# includes what it uses, so it also compiles without the precompiled header.
PRECOMPILED = ("torch/library.h", "ATen/ATen.h", "torch/csrc/utils/pybind.h")

RULES = """
ninja_required_version = 1.5
builddir = {builddir}
cxx = {cxx}
flags = {flags}
link = {link}

rule header
  command = $cxx $flags -x c++-header -MMD -MF $out.d $in -o $out
  depfile = $out.d
  deps = gcc
  description = PCH $in

rule compile
  command = $cxx $flags -Winvalid-pch -include {pch} -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
  description = CXX $in

rule link
  command = $cxx -shared @$out.rsp $link -o $out
  rspfile = $out.rsp
  rspfile_content = $in
  description = LINK $out

"""


# Headers that other wheels ship: the name to include -> the wheel, its package and the file in it.
HEADERS = {
    "pjrt_c_api.h": ("xla-cpu-pjrt==0.0.1", "xla_plugins", "xla_cpu_pjrt/include/pjrt_c_api.h"),
    "xla/ffi/api/c_api.h": ("jaxlib==0.10.2", "jaxlib", "include/xla/ffi/api/c_api.h"),
}


def _header(name: str) -> Path:
    wheel, package, file = HEADERS[name]
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        header = Path(root) / file
        if header.is_file():
            return header
    raise SystemExit(
        f"{name} not found: pip install {wheel}, or build without --no-build-isolation"
    )


def _escape(path: Path | str) -> str:
    return str(path).replace("$", "$$").replace(":", "$:").replace(" ", "$ ")


class NinjaBuild:
    def __init__(self, root: Path, torch: Torch, builddir: Path) -> None:
        self.root = root
        self.torch = torch
        # One folder per torch release: switching between two does not rebuild either.
        self.builddir = builddir / f"torch-{torch.version}"
        self.include = self.builddir / "include"
        self.pch = self.builddir / "precompiled.h"
        self.library = self.builddir / "_C.so"

    def run(self, jobs: int) -> Path:
        # Copied: an isolated build has the wheels at new paths each time, and ninja compiles
        # everything again when the command lines change.
        for name in HEADERS:
            (self.include / name).parent.mkdir(parents=True, exist_ok=True)
            self._write(self.include / name, _header(name).read_text())
        self._write(self.pch, "".join(f"#include <{name}>\n" for name in PRECOMPILED))
        self._write(self.builddir / "build.ninja", self._ninja_text())
        command = [self._ninja(), "-C", str(self.builddir), f"-j{jobs}"]
        result = subprocess.run(command, check=False)
        if result.returncode:
            raise SystemExit("compiling the C++ core failed: see the compiler's messages above")
        return self.library

    @staticmethod
    def _write(path: Path, text: str) -> None:
        # Untouched when equal, so that ninja sees nothing new.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    @staticmethod
    def _ninja() -> str:
        beside = Path(sys.executable).with_name("ninja")
        found = str(beside) if beside.exists() else shutil.which("ninja")
        if not found:
            raise SystemExit("ninja not found: pip install ninja")
        return found

    def _flags(self) -> str:
        include = self.torch.root / "include"
        system = [
            include,
            include / "torch" / "csrc" / "api" / "include",
            self.include,
            Path(sysconfig.get_path("include")),
        ]
        options = [
            "-std=c++20 -O2 -fPIC -pthread -fvisibility=hidden -Wall -Wextra",
            "-Wno-unused-parameter -fdiagnostics-color=auto",
            "-D_GLIBCXX_USE_CXX11_ABI=1 -DTORCH_EXTENSION_NAME=_C",
            f"-I{_escape(self.root)}",
            *(f"-isystem {_escape(path)}" for path in system),
            os.environ.get("CXXFLAGS", ""),
        ]
        return " ".join(options).strip()

    def _link(self) -> str:
        # No rpath: torch is imported before the extension, so its libraries are loaded.
        libraries = "-lc10 -ltorch -ltorch_cpu -ltorch_python -ldl"
        return f"-L{_escape(self.torch.root / 'lib')} {libraries} {os.environ.get('LDFLAGS', '')}"

    def _ninja_text(self) -> str:
        gch = _escape(self.pch) + ".gch"
        text = RULES.format(
            builddir=_escape(self.builddir),
            cxx=os.environ.get("CXX", "c++"),
            flags=self._flags(),
            link=self._link().strip(),
            pch=_escape(self.pch),
        )
        text += f"build {gch}: header {_escape(self.pch)}\n"
        objects = []
        for source in sorted((self.root / "csrc").rglob("*.cpp")):
            name = source.relative_to(self.root).with_suffix(".o")
            objects.append(_escape(self.builddir / name))
            text += f"build {objects[-1]}: compile {_escape(source)} | {gch}\n"
        return text + f"build {_escape(self.library)}: link {' '.join(objects)}\n"
