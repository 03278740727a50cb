"""Finds what belongs to the person who runs HiSA inside the folders that a desktop shares.

A desktop made without root runs under that person's own number, so the permissions of files would
not keep it from reading what they alone may read. Nearly everything of theirs lies in their home,
which does not exist inside; this finds the rest.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

__all__ = ["find_owned"]

_DEPTH = {"opt": 4, "var": 4, "etc": 3, "usr": 3}
"""How many folders deep: `/var/lib/NAME/x`; below, one that is not theirs rarely holds theirs."""
_MOST = 200_000
"""Entries looked at in all: a second at most; a Debian desktop has 5,000 of them (70 ms)."""


def find_owned(folders: Sequence[str], uid: int) -> list[str]:
    """Paths of what the user owns below the system folders, without the leading slash.

    Of a tree only the topmost. The system itself is root's: of what root owns, what others may not
    read.
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
