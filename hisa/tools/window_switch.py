"""The tool that brings a window to the front (ComputerRL, appendix B, table 4)."""

from __future__ import annotations

import shlex

from hisa.protocols import Outcome
from hisa.tools.base import ToolContext
from hisa.tools.traits import Needs, tool

__all__ = ["switch_window"]


@tool(needs=Needs(frozenset({"execute"}), windows=2))
async def switch_window(window_id: str, context: ToolContext) -> Outcome:
    """Bring a window to the front, by its id in the list of windows."""
    ids = [window.id for window in context.observation.windows]
    if window_id not in ids:
        return Outcome(ok=False, error=f"no window {window_id!r:.40}; there are {', '.join(ids)}")
    number = shlex.quote(window_id)
    line = f"wmctrl -i -a {number} || xdotool windowactivate --sync {number}"
    result = await context.environment.execute(line, timeout=30.0)
    front = (await context.environment.observe(settle=0.5)).active
    if front is None or front.id != window_id:
        return Outcome(ok=False, error=f"it did not come to the front: {result.error}"[:300])
    return Outcome(ok=True, output=f"in front: {front.title}")
