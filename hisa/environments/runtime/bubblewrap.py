"""The desktop's file system as bubblewrap builds it, where plain namespaces are refused.

bubblewrap has no overlays in the versions that distributions ship: the system is read-only, and
home, /tmp and /run are fresh.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hisa.environments.runtime.boot import COVERED, EMPTY_FOLDERS, GUEST_FOLDER, SYSTEM_FOLDERS

__all__ = ["command"]


def command(
    guest: Sequence[str],
    environment: Mapping[str, str],
    *,
    copies: Mapping[str, str],
    covered: Sequence[str],
    identity: Mapping[str, str],
) -> list[str]:
    """The command line that runs ``guest`` in a desktop of its own.

    ``identity`` names the files that stand for those of /etc: without a line for its user in
    passwd, the message bus does not start.
    """
    line = ["bwrap", "--unshare-all", "--hostname", "desktop", "--new-session", "--cap-drop", "ALL"]
    line += ["--uid", "1000", "--gid", "1000"]
    for name in SYSTEM_FOLDERS:
        folder = f"/{name}"
        if os.path.islink(folder):
            line += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            line += ["--ro-bind", folder, folder]
    for name, source in identity.items():
        line += ["--ro-bind", source, f"/etc/{name}"]
    for name in (*COVERED, *covered):
        if Path("/", name).is_dir():
            line += ["--tmpfs", f"/{name}"]
    for name in (*EMPTY_FOLDERS, "home/user", "tmp/.X11-unix"):
        line += ["--dir", f"/{name}"]
    line += ["--proc", "/proc", "--dev", "/dev", "--perms", "0700"]
    line += ["--dir", environment["XDG_RUNTIME_DIR"]]
    for place, source in copies.items():
        line += ["--ro-bind", source, f"{GUEST_FOLDER}/{place}"]
    line += ["--symlink", "/usr/bin/python3", f"{GUEST_FOLDER}/bin/python", "--clearenv"]
    for name, value in environment.items():
        line += ["--setenv", name, value]
    return [*line, "--chdir", "/home/user", "--", *guest]
