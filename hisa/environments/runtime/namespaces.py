"""Which way of isolating works on this machine, and the command line that does it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from typing import Literal

__all__ = ["Isolation", "command", "which"]

Isolation = Literal["root", "user", "bubblewrap", "none"]
"""root: real root's namespaces; user: a user namespace; bubblewrap: its own, no overlay."""

_UNSHARE = ("unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child=KILL")
_TRY = "mount -t tmpfs tmpfs /mnt && mount -t proc proc /proc"


@functools.cache
def which() -> Isolation:
    """The strongest isolation that works here; tried once."""
    if shutil.which("unshare"):
        kind: Isolation = "root" if os.geteuid() == 0 else "user"
        if _works([*command(kind), "sh", "-c", _TRY]):
            return kind
    if shutil.which("bwrap") and _works(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]):
        return "bubblewrap"
    return "none"


def command(isolation: Isolation) -> list[str]:
    """The prefix that runs the rest of a command line as root of fresh namespaces."""
    if isolation == "user":
        return [*_UNSHARE, "--user", "--map-root-user"]
    return [*_UNSHARE]


def _works(line: list[str]) -> bool:
    try:
        done = subprocess.run(line, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
