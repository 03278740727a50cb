"""Files of a run, which nobody but their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["FILE_MODE", "FOLDER_MODE", "write_private"]

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read; one that is there is replaced and closed too.

    Raises:
        OSError: it cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, FILE_MODE)
        file.write(content)
