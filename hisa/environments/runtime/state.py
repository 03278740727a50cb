"""The folder in which running desktops are written down, so that others can find and end them.

``${XDG_RUNTIME_DIR or /tmp}/hisa-UID/desktops/ID/`` holds ``handle.json``, the guest's socket, its
token and its log; mode 0700. A desktop's processes end with its first one, so a folder whose first
process is gone is only litter, and `reap` removes it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import stat
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed

__all__ = ["Handle", "end", "is_alive", "list_desktops", "new_folder", "process_start", "reap"]

_SOCKET_LIMIT = 100
"""A unix socket's path holds 107 bytes."""


@dataclass(frozen=True, slots=True)
class Handle:
    """What it takes to reach a running desktop again; JSON through `to_json` and `from_json`."""

    id: str
    pid: int
    started: int
    """Start of ``pid`` in clock ticks since boot: tells it from a later process of that number."""
    socket: str
    token_file: str
    created: float
    width: int
    height: int

    def to_json(self) -> dict[str, Any]:
        """As a plain object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Handle:
        """The handle back.

        Raises:
            EnvironmentFailed: the object is not a handle.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise EnvironmentFailed(
                f"not a desktop's handle: {dict(data)!r}", fix="start a new desktop"
            ) from error

    @property
    def folder(self) -> Path:
        """Where it is written down."""
        return Path(self.socket).parent

    @property
    def token(self) -> str:
        """The guest's bearer token; empty where it is gone."""
        try:
            return Path(self.token_file).read_text(encoding="ascii").strip()
        except OSError:
            return ""


def desktops_folder() -> Path:
    """The folder of all desktops of this user, made as needed.

    Raises:
        EnvironmentFailed: somebody else owns a folder of that name.
    """
    uid = os.getuid()
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    if not base.is_dir() or len(str(base)) > _SOCKET_LIMIT - 50:
        base = Path("/tmp")
    top = base / f"hisa-{uid}"
    top.mkdir(mode=0o700, exist_ok=True)
    status = top.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or status.st_mode & 0o022:
        raise EnvironmentFailed(
            f"{top} is not a private folder of user {uid}", fix=f"remove {top}, or set TMPDIR"
        )
    folder = top / "desktops"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def new_folder() -> Path:
    """A new empty folder for one desktop."""
    folder = desktops_folder() / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    return folder


def process_start(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None where it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(handle: Handle) -> bool:
    """Whether the desktop's first process still runs."""
    return process_start(handle.pid) == handle.started


def end(handle: Handle, *, seconds: float = 5.0) -> None:
    """End a desktop, wait for its first process, and remove its folder."""
    if is_alive(handle):
        for pid in _children(handle.pid) or [handle.pid]:
            _kill(pid)
    deadline = time.monotonic() + seconds
    while is_alive(handle) and time.monotonic() < deadline:
        time.sleep(0.005)
    shutil.rmtree(handle.folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    """The first process inside: when that one is gone, the kernel has ended all the others."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def list_desktops() -> list[Handle]:
    """The running desktops of this user, oldest first."""
    found = (_read(folder) for folder in desktops_folder().iterdir())
    alive = (handle for handle in found if handle is not None and is_alive(handle))
    return sorted(alive, key=lambda handle: handle.created)


def reap(*, older: float = 60.0) -> int:
    """Remove what dead desktops left; how many there were.

    Args:
        older: seconds since a folder without a handle was made; younger ones are still starting.
    """
    removed = 0
    for folder in desktops_folder().iterdir():
        handle = _read(folder)
        if handle is None and time.time() - folder.stat().st_mtime < older:
            continue
        if handle is None or not is_alive(handle):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def _read(folder: Path) -> Handle | None:
    try:
        return Handle(**json.loads((folder / "handle.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
