"""A Python without what only POSIX systems, X and GNOME have; the library of locks has its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

import filelock  # noqa: F401 - Windows' own locks are in it as well

MISSING = ("fcntl", "gi", "grp", "pty", "pwd", "resource", "termios", "tty", "Xlib")


class _Blocker:
    """Finds none of the missing modules."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


for module in [name for name in sys.modules if name.partition(".")[0] in MISSING]:
    del sys.modules[module]
sys.meta_path.insert(0, _Blocker())
