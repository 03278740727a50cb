"""How much time, memory and room the scoring of a benchmark's task may take.

What an agent leaves behind is hostile, and so is a stranger's task file: a small file can unpack
to gigabytes, and a view can run for ever. Processor time needs no stretching on a busy machine:
waiting does not use it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "MAX_DOWNLOAD",
    "MAX_PROFILE",
    "MAX_UNPACKED",
    "OSWORLD_LIMITS",
    "OWN_LIMITS",
    "Limits",
]


@dataclass(frozen=True)
class Limits:
    """What one process may take that reads files of the agent."""

    processor: int
    """Seconds of processor time, once the modules that read are loaded."""
    wall: float
    """Seconds until it is ended whatever it does, on an idle machine."""
    memory: int
    """Bytes of address space."""
    written: int
    """Bytes of a file that it writes."""
    answer: int = 64_000_000
    """Bytes that it may say."""


OWN_LIMITS = Limits(processor=60, wall=120.0, memory=4_000_000_000, written=256_000_000)
"""Of a metric or getter of ours."""
OSWORLD_LIMITS = Limits(processor=300, wall=300.0, memory=8_000_000_000, written=1_000_000_000)
"""Of a metric of OSWorld's package: some read a whole film."""
MAX_PROFILE = 50_000_000
"""Bytes of a file of the browser's user folder; a busy profile's settings take under one."""
MAX_UNPACKED = 1_000_000_000
"""Bytes of all that a package (a workbook, a presentation) holds, once unpacked."""
MAX_DOWNLOAD = 500_000_000
"""Bytes of a file from the internet."""
