"""Memory that is free on this machine, and sizes in words."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_bytes", "gigabytes"]

_GROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int | None:
    """Memory that a process can still take, in bytes; None: not known.

    What the kernel can take back from its caches counts as free, and a container's own limit is
    one.
    """
    try:
        text = Path("/proc/meminfo").read_text("ascii")
        (line,) = (line for line in text.splitlines() if line.startswith("MemAvailable:"))
        free = int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None
    return min(free, _left_in_group() or free)


def _left_in_group() -> int | None:
    try:
        most = int((_GROUP / "memory.max").read_text("ascii"))
        used = int((_GROUP / "memory.current").read_text("ascii"))
        rows = (line.split() for line in (_GROUP / "memory.stat").read_text("ascii").splitlines())
        cached = sum(int(row[1]) for row in rows if row[0] == "file")
    except (OSError, ValueError):  # no limit, or groups of another kind
        return None
    return max(1, most - used + cached)


def gigabytes(size: float) -> str:
    """Returns bytes as gigabytes of 10 to the power of 9, such as ``1.1 GB``."""
    return f"{size / 1e9:.1f} GB"
