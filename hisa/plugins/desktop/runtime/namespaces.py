"""Finds the way of isolation that works on this machine, and its command line."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from typing import Literal

__all__ = ["Isolation", "available_isolation", "command", "refusals"]

Isolation = Literal["root", "user", "bubblewrap", "none"]
"""root: namespaces made by real root; user: a user namespace; bubblewrap: its own namespaces,
without an overlay."""

_UNSHARE = ("unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child=KILL")
_TRY = "mount -t tmpfs tmpfs /mnt && mount -t proc proc /proc"
_BUBBLEWRAP = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
"""A trial of all that a desktop needs of it: a container may allow one part and refuse another."""


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
    """Returns the strongest isolation that works here; tries only once."""
    return _try_isolations()[0]


def refusals() -> dict[Isolation, str]:
    """Returns the reasons why the ways stronger than the one in use do not work."""
    return dict(_try_isolations()[1])


def command(isolation: Isolation) -> list[str]:
    """Returns the prefix that runs the rest of a command line as root of fresh namespaces."""
    if isolation == "user":
        return [*_UNSHARE, "--user", "--map-root-user"]
    return [*_UNSHARE]


def _refusal(line: list[str]) -> str:
    """Run a command; return why it failed, empty if it worked."""
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
