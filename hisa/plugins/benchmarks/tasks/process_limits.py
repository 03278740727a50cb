"""How much time, memory and disk space the scoring of a benchmark's task may take.

What an agent leaves behind is hostile, and so is a stranger's task file: a small file can unpack
to gigabytes, and a view can run for ever. Processor time needs no allowance for a busy machine:
waiting does not use any.
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
    """What a process that reads the agent's files may use."""

    processor: int
    """Seconds of processor time, once the reading modules are loaded."""
    wall: float
    """Seconds until it is killed, whatever it does, on an idle machine."""
    memory: int
    """Bytes of address space."""
    written: int
    """Most bytes of a file that it writes."""
    answer: int = 64_000_000
    """Most bytes of its output."""


OWN_LIMITS = Limits(processor=60, wall=120.0, memory=4_000_000_000, written=256_000_000)
"""For a metric or getter of ours."""
OSWORLD_LIMITS = Limits(processor=300, wall=300.0, memory=8_000_000_000, written=1_000_000_000)
"""For a metric of OSWorld's package: some read a whole film."""
MAX_PROFILE = 50_000_000
"""Most bytes of a file of the browser's user folder; settings take under a million."""
MAX_UNPACKED = 1_000_000_000
"""Most bytes of a package (a workbook, a presentation), once unpacked."""
MAX_DOWNLOAD = 500_000_000
"""Most bytes of a file from the internet."""
