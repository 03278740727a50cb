"""Limits of time and size for checks; what an agent leaves behind is hostile.

Seconds are those of an idle machine; the caller stretches them with `hisa.machine.patience`.
"""

from __future__ import annotations

__all__ = ["ANSWER", "CHECK_SECONDS", "MAX_HOST_FILE", "MAX_RESULT", "too_much"]

CHECK_SECONDS = 120.0
"""Time limit of a command or function on the machine that checks a user's own task."""
ANSWER = 1_000_000
"""Most bytes of a command's output that may decide a check. A longer output decides nothing,
because its unread part may say the opposite."""
MAX_RESULT = 200_000_000
"""Most bytes of a file that the agent left; ten times the largest that a published task needs."""
MAX_HOST_FILE = 500_000_000
"""Most bytes of a file beside a task file."""


def too_much(output: str) -> str:
    """Returns why a command's output decides nothing; empty if the whole output was read.

    Args:
        output: its output, read with a limit above `ANSWER`.
    """
    is_complete = len(output.encode("utf-8", "replace")) <= ANSWER
    return "" if is_complete else f"printed more than {ANSWER:,} bytes, which are not read"
