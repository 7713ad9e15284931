"""Cache entries as files: written atomically, checked when read, evicted by age of use.

An entry is one file of named sections, each with its own checksum, so that one damaged section
does not cost the other. The header repeats the entry's kind and key: a file that was renamed, cut
short, or written by something else reads as absent and is removed. Any number of processes may
share a folder, for a file appears complete or not at all (temporary file, fsync, rename).

Knows nothing of programs; cache.py is its only caller.
"""

import contextlib
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"NEURONX1"  # names the format: another format, another magic
_CHECKSUM = 16
_TOUCH_AFTER = 3600.0  # seconds between updates of an entry's time of use
_STALE_PARTIAL = 3600.0  # a temporary file of this age was left by a process that died


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_CHECKSUM).hexdigest()


def pack(kind: str, key: str, sections: dict[str, bytes]) -> bytes:
    """MAGIC, length and checksum of the header, the header (JSON), the sections."""
    table = [[name, len(data), _checksum(data)] for name, data in sections.items()]
    header = json.dumps({"kind": kind, "key": key, "sections": table}).encode()
    lead = MAGIC + len(header).to_bytes(4, "little") + bytes.fromhex(_checksum(header))
    return b"".join([lead, header, *sections.values()])


class Damaged(Exception):
    """The file is not a sound entry of its name."""


def unpack(kind: str, key: str, data: bytes, section: str) -> bytes:
    """One section of a packed entry; raises Damaged when it cannot be trusted."""
    start = len(MAGIC) + 4 + _CHECKSUM
    length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little")
    header = data[start : start + length]
    expected = MAGIC + len(header).to_bytes(4, "little") + bytes.fromhex(_checksum(header))
    if data[:start] != expected:
        raise Damaged("header")
    fields = json.loads(header)
    if (fields["kind"], fields["key"]) != (kind, key):
        raise Damaged("the entry of another key")
    at = start + length
    for name, size, checksum in fields["sections"]:
        if name == section:
            body = data[at : at + size]
            if _checksum(body) != checksum:
                raise Damaged(section)
            return body
        at += size
    raise Damaged(f"no section {section}")


class Folder:
    """The entries below one directory, which is made when something is written."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, kind: str, key: str) -> Path:
        return self.root / kind / key[:2] / key

    def read(self, kind: str, key: str, section: str) -> bytes | None:
        """The section, None when there is no such entry or it cannot be read.

        Raises Damaged, leaving the file, when the section cannot be trusted.
        """
        path = self.path(kind, key)
        try:
            with path.open("rb") as handle:
                data = handle.read()
                used = os.fstat(handle.fileno()).st_mtime
        except OSError:
            return None
        if time.time() - used > _TOUCH_AFTER:
            with contextlib.suppress(OSError):  # a read-only folder stays readable
                os.utime(path)
        return unpack(kind, key, data, section)

    def packed(self, kind: str, key: str) -> bytes:
        """The whole entry, as `put` takes it. Raises OSError."""
        return self.path(kind, key).read_bytes()

    def write(self, kind: str, key: str, sections: dict[str, bytes]) -> int:
        """Writes the entry, replacing any of its name; returns its size. Raises OSError."""
        return self.put(kind, key, pack(kind, key, sections))

    def put(self, kind: str, key: str, data: bytes) -> int:
        """Writes an entry that is packed already; readers check it as any other."""
        path = self.path(kind, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{uuid.uuid4().hex}.partial")
        try:
            with partial.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
        return len(data)

    def remove(self, kind: str, key: str) -> None:
        with contextlib.suppress(OSError):
            self.path(kind, key).unlink()

    def _files(self) -> Iterator[os.DirEntry[str]]:
        """Every file below the root; other processes may be adding and removing."""
        pending = [os.fspath(self.root)]
        while pending:
            with contextlib.suppress(OSError), os.scandir(pending.pop()) as found:
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        yield entry

    def usage(self) -> dict[str, tuple[int, int]]:
        """Number and bytes of the entries of each kind."""
        totals: dict[str, tuple[int, int]] = {}
        for entry in self._files():
            with contextlib.suppress(OSError):
                kind = Path(entry.path).relative_to(self.root).parts[0]
                count, size = totals.get(kind, (0, 0))
                totals[kind] = (count + 1, size + entry.stat().st_size)
        return totals

    def evict(self, limit: int) -> int:
        """Removes the least recently used until 90 % of `limit` bytes are left, and what
        processes that died left behind; returns the number of bytes left."""
        found = []
        for entry in self._files():
            with contextlib.suppress(OSError):
                status = entry.stat()
                stale = time.time() - status.st_mtime > _STALE_PARTIAL
                if entry.name.endswith(".partial"):
                    if stale:
                        os.unlink(entry.path)
                else:
                    found.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total > limit:
            total -= self._remove_oldest(found, total - limit * 9 // 10)
        return total

    @staticmethod
    def _remove_oldest(found: list[tuple[float, int, str]], surplus: int) -> int:
        removed = 0
        for _, size, path in sorted(found):
            if removed >= surplus:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                removed += size
        return removed

    def clear(self) -> None:
        for entry in self._files():
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
