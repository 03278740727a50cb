"""How much time, memory and room a task may take: every limit of set-up and scoring.

What an agent leaves behind is hostile, and so is a stranger's task file: a small file can unpack
to gigabytes, and a view can run for ever. Seconds are those of an idle machine; who waits stretches
them with `hisa.machine.patience`. Processor time needs no stretching: waiting does not use it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ANSWER",
    "CHECK_SECONDS",
    "MAX_CELLS",
    "MAX_DOWNLOAD",
    "MAX_HOST_FILE",
    "MAX_PROFILE",
    "MAX_RESULT",
    "MAX_UNPACKED",
    "OSWORLD_LIMITS",
    "OWN_LIMITS",
    "Limits",
    "too_much",
]


@dataclass(frozen=True)
class Limits:
    """What one process may take that reads files of the agent."""

    processor: int
    """Seconds of processor time."""
    wall: float
    """Seconds until it is ended whatever it does, on an idle machine."""
    memory: int
    """Bytes of address space."""
    written: int
    """Bytes of a file that it writes."""
    answer: int = 64_000_000
    """Bytes that it may say."""


OWN_LIMITS = Limits(processor=60, wall=120.0, memory=4_000_000_000, written=256_000_000)
"""Of a metric or getter of ours. A sheet of 200,000 cells takes about 10 s here, both files read
twice; published tasks have less than a tenth of that."""
OSWORLD_LIMITS = Limits(processor=300, wall=300.0, memory=8_000_000_000, written=1_000_000_000)
"""Of a metric of OSWorld's package: some read a whole film."""

CHECK_SECONDS = 120.0
"""Of a command or function on the machine that checks a task of one's own."""
ANSWER = 1_000_000
"""Bytes of what a command says that decides a check: more of it is not looked at, and none of it
decides, because what was not seen may say the opposite."""
MAX_RESULT = 200_000_000
"""Bytes of a file that the agent left; ten times the largest that a published task asks for."""
MAX_PROFILE = 50_000_000
"""Bytes of a file of the browser's user folder; a busy profile's settings take under one."""
MAX_UNPACKED = 1_000_000_000
"""Bytes of all that a package (a workbook, a presentation) holds, once unpacked."""
MAX_CELLS = 5_000_000
"""Cells of a sheet up to its last used row and column."""
MAX_DOWNLOAD = 500_000_000
"""Bytes of a file from the internet."""
MAX_HOST_FILE = 500_000_000
"""Bytes of a file beside a task file."""


def too_much(said: str) -> str:
    """Returns why what a command said decides nothing; empty where all of it was seen.

    Args:
        said: its output, read with a limit above `ANSWER`.
    """
    whole = len(said.encode("utf-8", "replace")) <= ANSWER
    return "" if whole else f"said more than {ANSWER:,} bytes, which is not looked at"
