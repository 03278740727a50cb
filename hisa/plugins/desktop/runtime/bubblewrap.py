"""Builds the desktop's file system with bubblewrap, if plain namespaces are refused.

The bubblewrap versions that distributions ship have no overlays, so the system is read-only, and
home, /tmp and /run are new. Each of those is a tmpfs of limited size if bubblewrap knows ``--size``
(since 0.7); otherwise the watchdog ends a desktop that writes more.
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
"""Size of /run: sockets, and a copy of the guest's code."""


@functools.cache
def _hostname() -> tuple[str, ...]:
    """Returns the option for the desktop's own host name; none if a container refuses it."""
    option = ("--hostname", "desktop")
    line = ["bwrap", "--unshare-all", *option, "--ro-bind", "/", "/", "true"]
    result = subprocess.run(line, capture_output=True, check=False)
    return () if result.returncode else option


def _build_tmpfs(folder: str, megabytes: int) -> list[str]:
    size = ["--size", str(megabytes << 20)] if knows_size() else []
    return [*size, "--tmpfs", folder]


def _pick_topmost(names: Sequence[str]) -> list[Path]:
    """Return the names as paths, without those that are inside another."""
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
    """Return options that mount the system's folders read-only; links stay links."""
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
    """Returns the command line that runs ``guest`` in a desktop of its own.

    Args:
        guest: the command line of the guest.
        environment: the guest's variables.
        copies: the host's paths of the guest's code, by path below `GUEST_FOLDER`.
        covered: folders and files below system folders that are hidden.
        identity: the host's files that replace those of /etc, by name; without a line for its user
            in passwd, the message bus does not start.
        disk_mb: limit for home, /tmp and /dev/shm together, in MiB; home gets half of it.
        shares: folders of this machine that are shared with the desktop.
        system: folder of a built system in place of the host's own; empty: the host's own.
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
