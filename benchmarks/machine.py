"""Where and when something was measured."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

__all__ = ["compiled_once", "machine"]


def machine() -> str:
    """Date, processor architecture, cores and Python version, on one line."""
    cores = len(os.sched_getaffinity(0))
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {platform.machine()}, {cores} cores, "
        f"Python {platform.python_version()}"
    )


@contextmanager
def compiled_once() -> Iterator[dict[str, str]]:
    """The environment of processes of which only the first compiles the modules it imports.

    That is how a user's processes start from the second on. Where Python is told to write no
    bytecode down, each would compile all modules anew, over a third of an import.
    """
    with tempfile.TemporaryDirectory() as folder:
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        yield {**environ, "PYTHONPYCACHEPREFIX": folder}
