"""One process at a time in a folder, by an advisory lock that dies with its holder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hisa.errors import StoreError

__all__ = ["folder_lock"]

_PAUSE = 0.01


@contextmanager
def folder_lock(folder: Path, patience: float) -> Iterator[None]:
    """Hold ``folder``/lock; the folder is made where it is missing.

    Args:
        folder: what to keep others out of.
        patience: seconds to wait for another holder.

    Raises:
        StoreError: the folder cannot be written, or another process kept it all that time.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"pattern store {folder}: {error.strerror}",
            fix="--set patterns.path=FOLDER with a folder that you can write",
        ) from error
    try:
        _wait(descriptor, folder, patience)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StoreError(
                    f"pattern store {folder} is held by another process for over {patience:g} s",
                    fix="wait for its import or re-embedding, or --set patterns.path=FOLDER",
                ) from None
            time.sleep(_PAUSE)
        else:
            return
