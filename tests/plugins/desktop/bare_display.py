"""A bare X server for a test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["bare_display"]


@contextmanager
def bare_display() -> Iterator[str]:
    """Its name, as ``:N``."""
    number, number_in = os.pipe()
    line = ["Xvfb", "-displayfd", str(number_in), "-screen", "0", "1280x720x24"]
    server = subprocess.Popen([*line, "-nolisten", "tcp"], pass_fds=(number_in,))
    os.close(number_in)
    with os.fdopen(number, encoding="ascii") as stream:
        name = f":{stream.readline().strip()}"
    try:
        yield name
    finally:
        server.terminate()
        server.wait()
