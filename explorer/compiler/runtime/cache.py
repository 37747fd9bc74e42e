"""Compiled code, kept in memory and on disk under a key of everything that it depends on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import struct
import tempfile
import threading
from collections import OrderedDict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from explorer.compiler.runtime.executable import Executable

DISK_LIMIT = 512 * 2**20
"""Bytes of all entries on disk; the least recently used go first."""

MAKING = 1
"""Raised when the flags of the compiler or what is read off its output change: old entries go."""

_MEMORY_ENTRIES = 256
_SUFFIX = ".code"
_DIGEST_BYTES = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<Q")


def cache_key(content: Any, *, target: str, options: dict[str, Any] | None = None) -> str:
    """Key of compiled code: SHA-256 of what it follows from, in hexadecimal.

    Args:
        content: JSON data that says what is compiled: MLIR text, or a graph as data.
        target: name of the target; code for ``cpu`` also depends on this machine's processor.
        options: compile options, JSON data.
    """
    parts = {
        "content": content,
        "target": target,
        "options": options or {},
        "machine": _processor() if target == "cpu" else "",
        "versions": _versions(),
        "making": MAKING,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _versions() -> dict[str, str]:
    names = ("kernel-explorer", "iree-base-compiler", "iree-base-runtime")
    return {name: _version(name) for name in names}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


@cache
def _processor() -> str:
    """What the compiler may use of this processor: code for another one may not run here."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        facts = ("model name", "flags", "Features", "CPU part")
        return "\n".join(sorted({x for x in lines if x.startswith(facts)}))
    return f"{platform.machine()} {platform.processor()}"


class CodeCache:
    """Executables by key. Safe for several threads, and for several processes on one folder."""

    def __init__(self, folder: Path, *, disk_limit: int = DISK_LIMIT) -> None:
        """The folder is made when something is put into it.

        Args:
            folder: where the entries lie.
            disk_limit: bytes that they may take together.
        """
        self.folder = folder
        self._disk_limit = disk_limit
        self._memory: OrderedDict[str, Executable] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Executable | None:
        """The code of a key, None when there is none. A damaged entry is dropped."""
        with self._lock:
            if (found := self._memory.get(key)) is not None:
                self._memory.move_to_end(key)
                return found
        executable = self._read(self._path(key))
        if executable is not None:
            self._remember(key, executable)
        return executable

    def put(self, key: str, executable: Executable) -> None:
        """Keep code. When the disk refuses, it is kept in memory only."""
        self._remember(key, executable)
        with contextlib.suppress(OSError):
            self._write(self._path(key), _pack(executable))
            self._evict()

    def clear(self) -> None:
        """Forget everything, in memory and on disk."""
        with self._lock:
            self._memory.clear()
        for path in self._entries():
            path.unlink(missing_ok=True)

    @property
    def disk_bytes(self) -> int:
        """Bytes of all entries on disk."""
        return sum(size for _, size, _ in self._by_age())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _entries(self) -> list[Path]:
        return list(self.folder.glob(f"*{_SUFFIX}"))

    def _remember(self, key: str, executable: Executable) -> None:
        with self._lock:
            self._memory[key] = executable
            self._memory.move_to_end(key)
            while len(self._memory) > _MEMORY_ENTRIES:
                self._memory.popitem(last=False)

    def _read(self, path: Path) -> Executable | None:
        try:
            content = path.read_bytes()
        except OSError:
            return None
        executable = _unpack(content)
        with contextlib.suppress(OSError):
            if executable is None:
                path.unlink(missing_ok=True)
            else:
                os.utime(path)  # used just now
        return executable

    def _write(self, path: Path, content: bytes) -> None:
        """Whole or not at all: readers see the old entry or the new one."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, prefix="new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _by_age(self) -> list[tuple[float, int, Path]]:
        """(time of last use, bytes, path) of each entry, the oldest first."""
        rows: list[tuple[float, int, Path]] = []
        for path in self._entries():
            with contextlib.suppress(OSError):  # another process may have removed it
                status = path.stat()
                rows.append((status.st_mtime, status.st_size, path))
        return sorted(rows)

    def _evict(self) -> None:
        rows = self._by_age()
        excess = sum(size for _, size, _ in rows) - self._disk_limit
        for _, size, path in rows:
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size


def _pack(executable: Executable) -> bytes:
    """Digest of all that follows, length of the JSON part, JSON part, module."""
    facts = {
        "isa": executable.isa,
        "resources": executable.resources,
        "seconds": executable.seconds,
    }
    header = json.dumps(facts).encode()
    body = _LENGTH.pack(len(header)) + header + executable.vmfb
    return hashlib.sha256(body).digest() + body


def _unpack(content: bytes) -> Executable | None:
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest or len(body) < _LENGTH.size:
        return None
    start = _LENGTH.size
    end = start + _LENGTH.unpack(body[:start])[0]
    facts = json.loads(body[start:end])
    return Executable(body[end:], facts["isa"], facts["resources"], facts["seconds"])


def default_folder() -> Path:
    """``$EXPLORER_CACHE_DIR``, else the user's cache folder as the XDG specification has it."""
    if chosen := os.environ.get("EXPLORER_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kernel-explorer"


@cache
def shared_cache() -> CodeCache:
    """The cache of this process, in the default folder."""
    return CodeCache(default_folder())
