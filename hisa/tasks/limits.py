"""How much time and room a check may take; what an agent leaves behind is hostile.

Seconds are those of an idle machine; who waits stretches them with `hisa.machine.patience`.
"""

from __future__ import annotations

__all__ = ["ANSWER", "CHECK_SECONDS", "MAX_HOST_FILE", "MAX_RESULT", "too_much"]

CHECK_SECONDS = 120.0
"""Of a command or function on the machine that checks a task of one's own."""
ANSWER = 1_000_000
"""Bytes of what a command says that decides a check: more of it is not looked at, and none of it
decides, because what was not seen may say the opposite."""
MAX_RESULT = 200_000_000
"""Bytes of a file that the agent left; ten times the largest that a published task asks for."""
MAX_HOST_FILE = 500_000_000
"""Bytes of a file beside a task file."""


def too_much(output: str) -> str:
    """Returns why what a command said decides nothing; empty where all of it was seen.

    Args:
        output: its output, read with a limit above `ANSWER`.
    """
    is_complete = len(output.encode("utf-8", "replace")) <= ANSWER
    return "" if is_complete else f"said more than {ANSWER:,} bytes, which is not looked at"
