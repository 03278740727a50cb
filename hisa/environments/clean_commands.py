"""Commands of ours on the machine, in an environment that the agent did not make.

What an agent leaves behind may change what a command means: a start-up file of bash or Python, a
program of the same name earlier on the PATH, a module beside the one that is meant. A check that
believes them can be forged.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

__all__ = ["bash", "clean", "python"]

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
"""Folders that only an administrator writes to."""
_SESSION = (
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "DISPLAY",
    "XAUTHORITY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "GSETTINGS_BACKEND",
)
"""What tells a program which session it is in; the machine set it before the agent began."""


def clean(words: Sequence[str], *, home: bool = True) -> str:
    """A bash line that runs a program with the session's variables and no others.

    Args:
        words: the program and its arguments.
        home: whether ``~`` is that of the user; else there is none, and HISA_HOME names theirs.
    """
    variables = " ".join(f'${{{name}+"{name}=${name}"}}' for name in _SESSION)
    place = 'HOME="$HOME"' if home else 'HOME=/nonexistent HISA_HOME="$HOME"'
    return f"/usr/bin/env -i PATH={_PATH} {place} {variables} {shlex.join(words)}"


def bash(source: str) -> str:
    """A bash line that runs another without the start-up files of its user."""
    return clean(["/bin/bash", "--noprofile", "--norc", "-c", source])


def python(source: str, *arguments: str, home: bool = True) -> str:
    """A bash line that runs Python source with the system's own libraries alone."""
    return clean(["python3", "-I", "-S", "-B", "-c", source, *arguments], home=home)
