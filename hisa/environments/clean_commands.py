"""Builds HiSA's own commands for the machine so that nothing the agent left can change them.

A start-up file of bash or Python, a program of the same name earlier on the PATH, or a module
beside the intended one changes what a command means. A check that runs such a command can be
forged.
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
"""The variables that name a program's session; the machine set them before the agent began."""


def clean(words: Sequence[str], *, home: bool = True) -> str:
    """Returns a bash line that runs a program with the session's variables and no others.

    Args:
        words: the program and its arguments.
        home: whether HOME is the user's; if not, HOME does not exist and HISA_HOME is the user's.
    """
    variables = " ".join(f'${{{name}+"{name}=${name}"}}' for name in _SESSION)
    place = 'HOME="$HOME"' if home else 'HOME=/nonexistent HISA_HOME="$HOME"'
    return f"/usr/bin/env -i PATH={_PATH} {place} {variables} {shlex.join(words)}"


def bash(source: str) -> str:
    """Returns a bash line that runs ``source`` in bash without the user's start-up files."""
    return clean(["/bin/bash", "--noprofile", "--norc", "-c", source])


def python(source: str, *arguments: str, home: bool = True) -> str:
    """Returns a bash line that runs Python source with the system's own libraries alone.

    Args:
        source: the Python program.
        arguments: become ``sys.argv[1:]``.
        home: see `clean`.
    """
    return clean(["python3", "-I", "-S", "-B", "-c", source, *arguments], home=home)
