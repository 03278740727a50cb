"""Whether a built system has an application."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hisa.plugins.machines.known_apps import App

__all__ = ["is_in_tree"]

_HANDS_OVER = re.compile(r"^[ \t]*exec\s+(/[^\s$]+)(?:\s|$)", re.MULTILINE)
"""The line by which a script of a built system starts the program that is called otherwise there.

A browser's wrapper is there still when the browser is gone.
"""


def is_in_tree(app: App, root: Path) -> bool:
    """Whether a built system has an application.

    Args:
        app: the application.
        root: the system's first folder.
    """
    if app.office:
        return (root / "usr/lib/libreoffice/program" / app.office).exists()
    folders = [root / name for name in ("usr/local/bin", "usr/bin", "usr/games")]
    beside = (place.replace("$HOME", "/home/user").lstrip("/") for place in app.places)
    return any(
        _stands(folder / command, root) for folder in folders for command in app.commands
    ) or any(any(root.glob(place)) for place in beside)


def _stands(program: Path, root: Path) -> bool:
    """Whether a program is in a tree, and so is that to which it hands over, if it is a script."""
    if program.is_symlink() or not program.exists():
        return os.path.lexists(program)
    with program.open("rb") as file:
        start = file.read(1000)
    found = _HANDS_OVER.search(start.decode("utf-8", "replace")) if start[:2] == b"#!" else None
    return found is None or (root / found[1].lstrip("/")).exists()
