"""Finds the windows that a task names by title or class.

Dashes count as equal: newer versions of a program put another dash into the same title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.screen.observation import Window
from hisa.tasks.pieces import Parameters
from hisa.tasks.task_context import Context

__all__ = ["Named", "await_window", "find_window", "plain_title"]

_SECONDS = 20.0  # chosen by hand
_DEBIAN = "-default"
"""The suffix of Debian's Thunderbird class; tasks write ``Mail.thunderbird``, with the instance."""


class Named(Parameters):
    """A window by its title or its class; ``strict``: the name must be the whole of it.

    Without ``strict``, a class will do if no title contains the name: a shell in a terminal
    replaces the title "Terminal" with its own.
    """

    window_name: Annotated[str, Field(min_length=1, max_length=1000)]
    strict: bool = False
    by_class: bool = False


def plain_title(title: str) -> str:
    """Returns a title with every dash as "-"."""
    return re.sub(r"\s[\u2010-\u2015]\s", " - ", title)


def find_window(windows: Sequence[Window], params: Named) -> Window | None:
    """Returns the window that ``params`` names; None if it is not open."""
    name = plain_title(params.window_name)
    match = _find_named(windows, params, name)
    if match is None and "Google Chrome" in name:
        return _find_named(windows, params, name.replace("Google Chrome", "Chromium"))
    if match is None and not params.strict:
        return next((window for window in windows if name.lower() in window.app.lower()), None)
    return match


def _find_named(windows: Sequence[Window], params: Named, name: str) -> Window | None:
    for window in windows:
        shown, titles = plain_title(window.title), {name}
        if params.by_class:
            shown, titles = window.app.removesuffix(_DEBIAN), {name, name.rpartition(".")[2]}
        if shown in titles:
            return window
        if not params.strict and any(title.lower() in shown.lower() for title in titles if title):
            return window
    return None


async def await_window(context: Context, params: Named, seconds: float = _SECONDS) -> Window:
    """Waits for a window and returns it.

    Args:
        context: the task and its machine.
        params: the window's name, and how it is compared.
        seconds: longest wait, in seconds on an idle machine.

    Raises:
        EnvironmentFailed: it does not appear; the message lists the open windows' titles.
    """
    deadline = Deadline(seconds)
    while True:
        windows = await context.windows()
        match = find_window(windows, params)
        if match is not None:
            return match
        if deadline.passed:
            titles = [window.title for window in windows]
            raise EnvironmentFailed(
                f"no window titled {params.window_name!r} after {deadline.waited:.0f} s; "
                f"there are: {titles}"
            )
        await context.pause(0.3)
