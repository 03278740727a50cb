"""Where and when something was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime

__all__ = ["machine"]


def machine() -> str:
    """Date, processor architecture, cores and Python version, on one line."""
    cores = len(os.sched_getaffinity(0))
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {platform.machine()}, {cores} cores, "
        f"Python {platform.python_version()}"
    )
