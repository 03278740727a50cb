"""Files of one folder by name, without following a link out of it, whoever puts one there when."""

from __future__ import annotations

import os

__all__ = ["opened_beneath", "parent_beneath"]

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def parent_beneath(folder: str, path: str, *, made: bool = False) -> tuple[int, str]:
    """The descriptor of the folder in which a path lies, and its last name.

    Args:
        folder: below which it lies, without links.
        path: absolute, below it by its name.
        made: make the folders between where they are missing.

    Raises:
        OSError: one of them is missing, or a link.
    """
    *between, name = os.path.relpath(os.path.normpath(path), folder).split("/")
    number = os.open(folder, _FOLDER)
    for part in between:
        try:
            if made and not os.path.lexists(f"/proc/self/fd/{number}/{part}"):
                os.mkdir(part, dir_fd=number)
            below = os.open(part, _FOLDER, dir_fd=number)
        finally:
            os.close(number)
        number = below
    return number, name


def opened_beneath(folder: str, path: str) -> int:
    """A descriptor of the file, to be read; a pipe is not waited for.

    Raises:
        OSError: there is none, or a link.
    """
    number, name = parent_beneath(folder, path)
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=number)
    finally:
        os.close(number)
