"""Finds the user's own files in the system folders that a desktop shows.

A desktop that is started without root runs under the user's own number, so file permissions would
not keep it from reading the user's private files. Nearly all of them are in the home folder, which
does not exist inside; this finds the rest.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

__all__ = ["find_owned"]

_DEPTH = {"opt": 4, "var": 4, "etc": 3, "usr": 3}
"""How many folders deep to search, as `/var/lib/NAME/x`; below that, a folder of another owner
rarely has files of the user's."""
_MOST = 200_000
"""Most entries that are searched: a second at most; a Debian desktop has 5,000 of them (70 ms)."""


def find_owned(folders: Sequence[str], uid: int) -> list[str]:
    """Returns paths that the user owns below the system folders, without the leading slash.

    Of an owned folder, only its own path is returned. Root owns the system itself, so for root only
    paths count that others may not read.
    """
    left = [_MOST]
    paths: list[str] = []
    for folder in sorted(folders, key=lambda name: name == "usr"):  # the largest comes last
        if not os.path.islink(f"/{folder}"):
            paths += _search(f"/{folder}", uid, _DEPTH.get(folder, 1), left)
    return [path.lstrip("/") for path in paths]


def _search(folder: str, uid: int, depth: int, left: list[int]) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        left[0] -= 1
        if left[0] < 0:
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        hidden = status.st_uid == uid and not stat.S_ISLNK(status.st_mode)
        if hidden and (uid != 0 or not status.st_mode & stat.S_IROTH):
            yield entry.path
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _search(entry.path, uid, depth - 1, left)
