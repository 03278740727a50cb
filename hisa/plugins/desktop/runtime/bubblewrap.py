"""The desktop's file system as bubblewrap builds it, where plain namespaces are refused.

bubblewrap has no overlays in the versions that distributions ship: the system is read-only, and
home, /tmp and /run are fresh. Each of those is a tmpfs of limited size, where bubblewrap knows
``--size`` (since 0.7); elsewhere the watchdog ends a desktop that writes more.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hisa.environments.share import Share
from hisa.plugins.desktop.guest.sandbox import SET_OF_PROC, knows_size
from hisa.plugins.desktop.runtime.boot import (
    COVERED,
    EMPTY_FOLDERS,
    GUEST_FOLDER,
    HIDDEN_OF_PROC,
    SYSTEM_FOLDERS,
)

__all__ = ["command"]


_RUN_MB = 64
"""Sockets, and a copy of the guest's code."""


@functools.cache
def _hostname() -> tuple[str, ...]:
    """The option for a host name of the desktop's own; none where a container refuses it."""
    option = ("--hostname", "desktop")
    line = ["bwrap", "--unshare-all", *option, "--ro-bind", "/", "/", "true"]
    result = subprocess.run(line, capture_output=True, check=False)
    return () if result.returncode else option


def _build_tmpfs(folder: str, megabytes: int) -> list[str]:
    size = ["--size", str(megabytes << 20)] if knows_size() else []
    return [*size, "--tmpfs", folder]


def _pick_topmost(names: Sequence[str]) -> list[Path]:
    """As paths, without those that lie in another of them."""
    paths = sorted({Path("/", name) for name in names})
    return [path for path in paths if not any(other in path.parents for other in paths)]


def _covering(path: Path, system: str) -> list[str]:
    host_path = Path(f"{system}{path}")
    if host_path.is_dir():
        writable = path == Path("/var/tmp")
        empty = ["--tmpfs", str(path), "--remount-ro", str(path)]
        return _build_tmpfs(str(path), _RUN_MB) if writable else empty
    return ["--ro-bind", "/dev/null", str(path)] if host_path.exists() else []


def _system(system: str) -> list[str]:
    """The system's folders, read-only; those that are links stay links."""
    line = []
    for name in SYSTEM_FOLDERS:
        source = f"{system}/{name}"
        if os.path.islink(source):
            line += ["--symlink", os.readlink(source), f"/{name}"]
        elif os.path.isdir(source):
            line += ["--ro-bind", source, f"/{name}"]
    return line


def command(
    guest: Sequence[str],
    environment: Mapping[str, str],
    *,
    copies: Mapping[str, str],
    covered: Sequence[str],
    identity: Mapping[str, str],
    disk_mb: int,
    shares: Sequence[Share] = (),
    system: str = "",
) -> list[str]:
    """The command line that runs ``guest`` in a desktop of its own.

    ``identity`` names the files that stand for those of /etc: without a line for its user in
    passwd, the message bus does not start. Home, /tmp and /dev/shm take ``disk_mb`` together, half
    of it home. ``system`` is the folder of a built system in place of the host's own.
    """
    line = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", *_hostname()]
    line += ["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"]
    line += _system(system)
    for name, source in identity.items():
        line += ["--ro-bind", source, f"/etc/{name}"]
    for path in _pick_topmost([*COVERED, *covered]):
        line += _covering(path, system)
    line += ["--proc", "/proc", "--dev", "/dev"]
    for name in HIDDEN_OF_PROC:
        line += ["--ro-bind", "/dev/null", f"/proc/{name}"] if Path("/proc", name).exists() else []
    for name in filter(os.path.exists, SET_OF_PROC):
        line += ["--ro-bind", name, name]
    quarter = disk_mb // 4
    for folder, size in (("/home/user", 2 * quarter), ("/tmp", quarter), ("/dev/shm", quarter)):
        line += _build_tmpfs(folder, size)
    for share in shares:
        line += ["--bind" if share.writable else "--ro-bind", share.source, share.place]
    line += _build_tmpfs("/run", _RUN_MB)
    for name in (*EMPTY_FOLDERS, "tmp/.X11-unix"):
        line += ["--dir", f"/{name}"]
    line += ["--perms", "0700", "--dir", environment["XDG_RUNTIME_DIR"]]
    for place, source in copies.items():
        line += ["--ro-bind", source, f"{GUEST_FOLDER}/{place}"]
    line += ["--symlink", "/usr/bin/python3", f"{GUEST_FOLDER}/bin/python", "--clearenv"]
    for name, value in environment.items():
        line += ["--setenv", name, value]
    line += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*line, "--chdir", "/home/user", "--", *guest]
