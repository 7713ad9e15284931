"""Looks at a plugin's file before the dynamic loader does.

The loader dies of a library that was cut short (SIGBUS), and reports one for another machine as a
file that does not exist. Only ELF files are looked into; elsewhere the loader has the word. Called
by platforms.py.
"""

import os
import platform
import struct
import sys

_MACHINES = {3: "x86", 62: "x86_64", 183: "aarch64", 243: "riscv64"}  # e_machine of the ELF header
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
_SEGMENT = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr
_64_BIT_LITTLE = b"\x7fELF\x02\x01"


def check(path: str) -> None:
    """Raises RuntimeError, in one sentence, when `path` cannot be a library of this machine."""
    if not os.path.isfile(path):
        raise RuntimeError(f"The PJRT plugin {path} does not exist or is not a file.")
    if sys.platform != "linux":
        return
    try:
        with open(path, "rb") as file:
            fault = _fault(file)
    except OSError as error:
        raise RuntimeError(f"The PJRT plugin {path} cannot be read: {error.strerror}.") from None
    if fault:
        raise RuntimeError(f"The PJRT plugin {path} {fault}.")


def _fault(file) -> str:
    """What is wrong with the file, "" when nothing is."""
    start = file.read(_HEADER.size)
    if not start.startswith(b"\x7fELF"):
        return "is not a shared library"
    if len(start) < _HEADER.size:
        return "is incomplete: install it again"
    ours = platform.machine()
    identity, _, machine, _, _, segments, _, _, _, _, count, *_ = _HEADER.unpack(start)
    theirs = _MACHINES.get(machine, f"machine {machine}")
    if not identity.startswith(_64_BIT_LITTLE):
        theirs = "not 64-bit little-endian"
    if theirs != ours and ours in _MACHINES.values():
        return f"is built for another machine ({theirs}) than this one ({ours})"
    return "" if _is_whole(file, segments, count) else "is incomplete: install it again"


def _is_whole(file, segments: int, count: int) -> bool:
    """Whether every loadable segment lies within the file."""
    size = os.fstat(file.fileno()).st_size
    file.seek(segments)
    table = file.read(count * _SEGMENT.size)
    if len(table) < count * _SEGMENT.size:
        return False
    loadable = (s for s in _SEGMENT.iter_unpack(table) if s[0] == 1)
    return all(offset + in_file <= size for _, _, offset, _, _, in_file, _, _ in loadable)
