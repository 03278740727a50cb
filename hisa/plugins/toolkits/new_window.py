"""Says which window came up after a program was asked to start."""

from __future__ import annotations

from hisa.machine.patience import Deadline
from hisa.screen.observation import Observation
from hisa.text.prompt_text import one_line
from hisa.tools.base import ToolContext

__all__ = ["new_window"]

_WAIT = 8.0
"""Seconds; LibreOffice needs about 4 here on its first start."""
_SETTLE = 0.5


async def new_window(context: ToolContext, before: Observation) -> str:
    """Returns the windows that are there and were not, or that none came within some seconds."""
    known = {(window.id, window.title) for window in before.windows}
    deadline = Deadline(_WAIT)
    while not deadline.passed:
        look = await context.environment.observe(settle=_SETTLE)
        new = [each for each in look.windows if (each.id, each.title) not in known and each.title]
        if new:
            told = (f"“{one_line(each.title)}” ({one_line(each.app)})" for each in new)
            return f"New windows: {', '.join(told)}"
    return f"No new window or title within {deadline.waited:.0f} s"
