"""Files that survive a crash: replaced whole, appended to by whole lines, locked by one process.

Locks are the kernel's, by filelock: they end with the process that holds them. Each function
documents whether its write is on the disk or only with the operating system; killing HiSA loses
neither.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from filelock import lock_descriptor, unlock_descriptor

__all__ = [
    "PRIVATE_FILE",
    "PRIVATE_FOLDER",
    "AppendOnlyFile",
    "Lock",
    "is_locked",
    "replace_file",
]

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_BINARY: int = getattr(os, "O_BINARY", 0)
"""Without it Windows changes line ends."""


def replace_file(
    path: Path, content: bytes | Iterable[bytes], *, mode: int = PRIVATE_FILE, synced: bool = False
) -> None:
    """Writes a file whole: a reader sees the old one or the new one, a crash leaves the old one.

    Args:
        path: the file; its folder must exist.
        content: the whole content, or its parts in order.
        mode: the permissions, also if the replaced file had others.
        synced: whether the file must be on the disk on return.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    try:
        with open(os.open(draft, flags, mode), "wb") as file:
            if sys.platform != "win32":
                os.fchmod(file.fileno(), mode)
            for part in (content,) if isinstance(content, bytes) else content:
                file.write(part)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def is_locked(path: Path) -> bool:
    """Whether a living process holds the `Lock` on this file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _BINARY)
    except OSError:
        return False
    try:
        if not lock_descriptor(descriptor, blocking=False):
            return True
        unlock_descriptor(descriptor)
    finally:
        os.close(descriptor)
    return False


class Lock:
    """A file locked by this process until `release` or its end; the file names the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Returns the lock, or None if another process holds it.

        Raises:
            OSError: the file cannot be created.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, PRIVATE_FILE)
        if not lock_descriptor(descriptor, blocking=False):
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return cls(descriptor)

    @staticmethod
    def holder(path: Path) -> str:
        """Returns the id of the process that took the lock last; "unknown" if there is none."""
        try:
            return path.read_text(encoding="ascii").strip() or "unknown"
        except (OSError, UnicodeDecodeError):
            return "unknown"

    def release(self) -> None:
        """Releases the lock; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class AppendOnlyFile:
    """A file of whole lines, written by one process.

    A last line without a line end was cut off by a crash: opening moves it to ``NAME.torn``.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path, *, mode: int = PRIVATE_FILE) -> None:
        _move_torn_line(path)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _BINARY
        self._descriptor = os.open(path, flags, mode)
        self._end = os.fstat(self._descriptor).st_size

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._descriptor < 0

    def append(self, line: bytes) -> None:
        """Adds a line, including its line end; the operating system has it on return.

        Raises:
            OSError: it cannot be written; nothing of it stays in the file.
        """
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError("only a part of the line could be written")
        except OSError:
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(line)

    def sync(self) -> None:
        """Waits until everything that was appended is on the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Closes the file; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _move_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("r+b") as file:
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return
        torn = path.with_name(f"{path.name}.torn")
        before = torn.read_bytes() if torn.exists() else b""
        replace_file(torn, before + content[end:] + b"\n")
        file.truncate(end)
