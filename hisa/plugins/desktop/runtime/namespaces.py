"""Which way of isolating works on this machine, and the command line that does it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from typing import Literal

__all__ = ["Isolation", "available_isolation", "command", "refusals"]

Isolation = Literal["root", "user", "bubblewrap", "none"]
"""root: real root's namespaces; user: a user namespace; bubblewrap: its own, no overlay."""

_UNSHARE = ("unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child=KILL")
_TRY = "mount -t tmpfs tmpfs /mnt && mount -t proc proc /proc"
_BUBBLEWRAP = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
"""As much as a desktop asks of it: a container may allow the one and refuse the other."""


@functools.cache
def _try_isolations() -> tuple[Isolation, dict[Isolation, str]]:
    """Try the strongest way first; returns the first that works, and why those before failed."""
    refused: dict[Isolation, str] = {}
    kind: Isolation = "root" if os.geteuid() == 0 else "user"
    trials: dict[Isolation, list[str]] = {
        kind: [*command(kind), "sh", "-c", _TRY],
        "bubblewrap": [*_BUBBLEWRAP, "true"],
    }
    for way, line in trials.items():
        why = _refusal(line)
        if not why:
            return way, refused
        refused[way] = why
    return "none", refused


def available_isolation() -> Isolation:
    """The strongest isolation that works here; tried once."""
    return _try_isolations()[0]


def refusals() -> dict[Isolation, str]:
    """Returns the reasons why the ways stronger than the one in use do not work."""
    return dict(_try_isolations()[1])


def command(isolation: Isolation) -> list[str]:
    """The prefix that runs the rest of a command line as root of fresh namespaces."""
    if isolation == "user":
        return [*_UNSHARE, "--user", "--map-root-user"]
    return [*_UNSHARE]


def _refusal(line: list[str]) -> str:
    """Run a command; returns why it failed, empty where it worked."""
    if shutil.which(line[0]) is None:
        return f"{line[0]} is not installed"
    try:
        result = subprocess.run(
            line, capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{line[0]}: {error}"
    if result.returncode == 0:
        return ""
    return result.stderr.strip()[-500:] or f"{line[0]}: exit status {result.returncode}"
