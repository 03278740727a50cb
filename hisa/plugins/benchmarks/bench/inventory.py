"""What is on a machine: its files and packages. Runs there, with the standard library alone.

It only reads, and its work is bounded: so many files, so many bytes hashed, in a fixed order.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["MAX_BYTES", "MAX_FILES", "inventory"]

MAX_FILES = 200
"""Files of the home folder."""
MAX_BYTES = 64_000_000
"""Bytes that are hashed in all; a file that does not fit in what is left has its size alone."""
_MAX_FOLDERS = 1000  # chosen by hand
_MAX_DEPTH = 6  # chosen by hand
_MAX_PATH = 500  # chosen by hand
_PACKAGE_SECONDS = 15.0  # chosen by hand
_NAMES = """at-spi2-core chromium chromium-browser code docker-ce eog evince evolution fontconfig
firefox firefox-esr gedit gimp gnome-calculator gnome-shell gnome-terminal gnome-text-editor
google-chrome-stable libc6 libgtk-3-0 libgtk-3-0t64 libreoffice-calc libreoffice-core
libreoffice-impress libreoffice-writer mousepad mutter nautilus openbox pcmanfm python3 thunar
thunderbird vlc xfce4-terminal xserver-xorg-core xterm xvfb"""
_WATCHED = frozenset(_NAMES.split())
"""Packages named one by one: what tasks are done with, and what draws it."""


def inventory(given: Iterable[str]) -> dict[str, Any]:
    """Files and versions, as JSON has them.

    Args:
        given: paths to look at besides the home folder; ``~`` is the user's home.
    """
    home = sorted(_below(os.path.expanduser("~")))
    named = sorted({os.path.expanduser(path) for path in given})
    paths = dict.fromkeys([*named, *home[:MAX_FILES]])
    return {
        "files": list(_described(paths)),
        "more": len(home) > MAX_FILES,
        "versions": {**_system(), **_packages()},
    }


def _below(root: str) -> Iterator[str]:
    """Files that are not hidden, nor in hidden folders: those are programs' own notes."""
    for folders, (place, inside, files) in enumerate(os.walk(root)):
        if folders >= _MAX_FOLDERS:
            return
        deep = place.count(os.sep) - root.count(os.sep) >= _MAX_DEPTH
        inside[:] = [] if deep else sorted(name for name in inside if not name.startswith("."))
        for name in files:
            if not name.startswith("."):
                yield os.path.join(place, name)


def _described(paths: Iterable[str]) -> Iterator[dict[str, Any]]:
    left = MAX_BYTES
    for path in paths:
        try:
            about = os.lstat(path)
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(about.st_mode) or len(path) > _MAX_PATH:
            continue
        digest = _sha256(path) if about.st_size <= left else ""
        left -= about.st_size if digest else 0
        name = os.fsencode(path).decode("utf-8", "backslashreplace")
        yield {"path": name, "size": about.st_size, "sha256": digest}


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def _system() -> dict[str, str]:
    try:
        with open("/etc/os-release", encoding="utf-8", errors="replace") as file:
            pairs = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    except OSError:
        return {}
    name = pairs.get("PRETTY_NAME", "").strip('"')
    return {"system": name} if name else {}


def _packages() -> dict[str, str]:
    """The packages that matter by name, and all of them as their number and a hash."""
    line = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\n"]
    try:
        said = subprocess.run(line, capture_output=True, timeout=_PACKAGE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [row.split("\t") for row in said.stdout.decode("utf-8", "replace").splitlines()]
    there = sorted({(row[1], row[2]) for row in rows if len(row) == 3 and row[0][:2] == "ii"})
    digest = hashlib.sha256(repr(there).encode()).hexdigest()[:12]
    named = {name: version for name, version in there if name in _WATCHED}
    return {**named, "packages": f"{len(there)} ({digest})"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(inventory(json.loads(sys.argv[1]))))
