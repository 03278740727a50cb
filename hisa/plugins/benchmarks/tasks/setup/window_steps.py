"""Steps that bring windows to the front and close them, by number with wmctrl."""

from __future__ import annotations

import shlex

from hisa.errors import EnvironmentFailed
from hisa.screen.observation import Window
from hisa.tasks.pieces import SETUP
from hisa.tasks.task_context import Context
from hisa.tasks.windows import Named, await_window, find_window

__all__: list[str] = []


async def _choose_window(context: Context, params: Named) -> Window | None:
    """Returns the window; during scoring, None if it is gone: the agent may have closed it."""
    if context.phase == "score":
        return find_window(await context.windows(), params)
    return await await_window(context, params)


async def _manage(context: Context, window: Window, with_wmctrl: str, with_xdotool: str) -> None:
    number = shlex.quote(window.id)
    line = f"wmctrl -i {with_wmctrl} {number} || xdotool {with_xdotool} {number}"
    result = await context.environment.execute(line, timeout=30.0)
    if result.exit_code in (126, 127):
        raise EnvironmentFailed(
            f"{context.environment.name}: windows cannot be managed: {result.error.strip()[:300]}",
            fix="install wmctrl in the machine",
        )


@SETUP("activate_window", Named)
async def activate_window(context: Context, params: Named) -> None:
    """Bring a window to the front."""
    window = await _choose_window(context, params)
    if window is not None:
        await _manage(context, window, "-a", "windowactivate --sync")


@SETUP("close_window", Named)
async def close_window(context: Context, params: Named) -> None:
    """Ask a window to close."""
    window = await _choose_window(context, params)
    if window is not None:
        await _manage(context, window, "-c", "windowclose")
