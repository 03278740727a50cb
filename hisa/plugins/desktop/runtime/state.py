"""The folder that records running desktops, so that other processes can find and end them.

``${XDG_RUNTIME_DIR or /tmp}/hisa-UID/desktops/ID/`` has ``handle.json``, the guest's socket, token
and log, and the desktop's owner; its mode is 0700. The recorded process is the watchdog outside
(`runtime.watchdog`): a desktop ends with it, so a folder whose watchdog is gone is a leftover, and
`reap` removes it.
"""

from __future__ import annotations

import contextlib
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
from hisa.machine.patience import Deadline
from hisa.machine.storage import replace_file
from hisa.plugins.desktop.runtime.watchdog import (
    ResourceUsage,
    children,
    count_written_bytes,
    first_inside,
    resource_usage,
)

__all__ = [
    "Handle",
    "Owner",
    "end",
    "is_alive",
    "list_desktops",
    "new_folder",
    "process_start",
    "read_owner",
    "reap",
    "usage",
    "why_ended",
    "write_owner",
]

_SOCKET_LIMIT = 100
"""A unix socket's path holds 107 bytes."""


@dataclass(frozen=True, slots=True)
class Handle:
    """The data with which a running desktop is reached again; JSON by `to_json` and `from_json`."""

    id: str
    pid: int
    started: int
    """Start of ``pid`` in clock ticks since boot, to tell it from a later process with that id."""
    socket: str
    token_file: str
    created: float
    width: int
    height: int
    idle: float = 0.0
    """Seconds without a request after which the desktop ends itself; 0: not known."""

    def to_json(self) -> dict[str, Any]:
        """Returns the handle as a plain object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Handle:
        """Makes a handle from what `to_json` returned.

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
        """The folder of the desktop."""
        return Path(self.socket).parent

    @property
    def token(self) -> str:
        """The guest's bearer token; empty if its file is gone."""
        try:
            return Path(self.token_file).read_text(encoding="ascii").strip()
        except OSError:
            return ""


def desktops_folder() -> Path:
    """Returns the folder of all desktops of this user; makes it if needed.

    Raises:
        EnvironmentFailed: another user owns a folder of that name, or may write in it.
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
    """Makes a new empty folder for one desktop."""
    folder = desktops_folder() / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    return folder


def process_start(pid: int) -> int | None:
    """Returns a process's start, in clock ticks since boot; None if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(handle: Handle) -> bool:
    """Whether the desktop's watchdog, and so the desktop, still runs."""
    return process_start(handle.pid) == handle.started


def end(handle: Handle, *, seconds: float = 5.0) -> None:
    """Ends a desktop, waits for its processes, and removes its folder."""
    # The watchdog waits until all processes are gone; if it is killed, they end a moment later.
    for number in (signal.SIGTERM, signal.SIGKILL):
        if is_alive(handle):
            _send(handle.pid, number)
        deadline = Deadline(seconds)
        while is_alive(handle) and not deadline.passed:
            time.sleep(0.005)
    shutil.rmtree(handle.folder, ignore_errors=True)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@dataclass(frozen=True, slots=True)
class Owner:
    """The HiSA process that uses a desktop, or was the last to use it."""

    pid: int
    started: int
    run: str = ""
    """Id of the run; empty if there is none."""

    @property
    def alive(self) -> bool:
        """Whether that process still runs."""
        return process_start(self.pid) == self.started


def write_owner(handle: Handle, run: str = "") -> None:
    """Records that this process uses the desktop."""
    known = Owner(os.getpid(), process_start(os.getpid()) or 0, run)
    replace_file(handle.folder / "owner.json", json.dumps(asdict(known)).encode())


def read_owner(handle: Handle) -> Owner | None:
    """Returns the owner of the desktop; None if it is not known."""
    try:
        text = (handle.folder / "owner.json").read_text(encoding="utf-8")
        return Owner(**json.loads(text))
    except (OSError, ValueError, TypeError):
        return None


def usage(handle: Handle) -> ResourceUsage:
    """Counts the desktop's processes and threads, and the bytes of their memory and files."""
    first = first_inside(next(iter(children(handle.pid)), 0))
    if first is None:
        return ResourceUsage()
    now = resource_usage(first)
    return ResourceUsage(now.processes, now.memory + count_written_bytes(first))


def why_ended(handle: Handle) -> tuple[str, float | None]:
    """Returns the watchdog's reason for ending the desktop; empty if it did not end it.

    The second value is the time since which more than half of the limit was taken, in seconds since
    boot; None if unknown. See `hisa.plugins.desktop.runtime.watchdog.blame`.
    """
    try:
        record = json.loads((handle.folder / "ended").read_text(encoding="utf-8"))
    except OSError:
        return "", None
    since = record["since"]
    return record["why"], None if since is None else since / os.sysconf("SC_CLK_TCK")


def list_desktops() -> list[Handle]:
    """Returns the running desktops of this user, oldest first."""
    handles = (_read(folder) for folder in desktops_folder().iterdir())
    alive = (handle for handle in handles if handle is not None and is_alive(handle))
    return sorted(alive, key=lambda handle: handle.created)


def reap(*, older: float = 60.0) -> int:
    """Removes the folders of desktops that are gone; returns their number.

    Args:
        older: least age, in seconds, of a removed folder without a handle; younger ones may belong
            to desktops that are starting.
    """
    removed = 0
    for folder in desktops_folder().iterdir():
        handle = _read(folder)
        user = handle and read_owner(handle)  # may still ask why the desktop was ended
        with contextlib.suppress(FileNotFoundError):  # another process removed it meanwhile
            young = handle is None and time.time() - folder.stat().st_mtime < older
            if not (young or (handle and is_alive(handle)) or (user and user.alive)):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def _read(folder: Path) -> Handle | None:
    try:
        return Handle(**json.loads((folder / "handle.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
