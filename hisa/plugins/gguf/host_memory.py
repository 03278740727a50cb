"""Memory that is free on this machine, and sizes as text."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_bytes", "gigabytes"]


def free_bytes() -> int | None:
    """Returns the memory that a process can still take, kernel caches included; None: unknown."""
    try:
        words = Path("/proc/meminfo").read_text("ascii").split()
        return int(words[words.index("MemAvailable:") + 1]) * 1024
    except (OSError, ValueError):
        return None


def gigabytes(size: float) -> str:
    """Returns bytes as gigabytes of 10 to the power of 9, such as ``1.1 GB``."""
    return f"{size / 1e9:.1f} GB"
