"""Requires the fonts without which some pages cannot be solved.

As for applications, the setup fails if a font is missing; it is never a score of 0.
"""

from __future__ import annotations

import asyncio
import subprocess

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.gym.base import Staging
from hisa.protocols import Environment, Task

__all__ = ["require_font"]

_LAID_OUT = frozenset({"daily-calendar"})
"""Pages that are laid out for Arial, and cannot be solved in a font of other widths."""
_AS_WIDE = ("Arial", "Arimo", "Liberation Sans")
"""Fonts that Chromium uses for Arial; if fontconfig offers another, it uses its default font."""
_SECONDS = 30.0  # chosen by hand


async def require_font(task: Task, environment: Environment) -> None:
    """Requires a font of Arial's widths for a page that is laid out for Arial.

    A machine that cannot list its fonts counts as having one.

    Raises:
        EnvironmentFailed: the machine has no such font.
    """
    pages = {str(step.get("parameters", {}).get("task")) for step in task.setup}
    if not {page.removeprefix("miniwob.") for page in pages} & _LAID_OUT:
        return
    font = await _drawn_for_arial(environment)
    if font and not font.startswith(_AS_WIDE):
        raise EnvironmentFailed(
            f"task {task.id!r} needs a font as wide as Arial, which {environment.name} does not "
            f"have: it uses {font[:60]!r}",
            fix="on the machine of its browser: apt-get install fonts-liberation",
        )


async def _drawn_for_arial(environment: Environment) -> str:
    """Returns the family that fontconfig has for Arial; empty if unknown."""
    line = ["fc-match", "-f", "%{family}", "Arial"]
    if isinstance(environment, Staging):  # BrowserGym's browser runs on this machine
        try:
            return (await asyncio.to_thread(subprocess.check_output, line, text=True)).strip()
        except (OSError, subprocess.CalledProcessError):
            return ""
    if "execute" not in environment.capabilities:
        return ""
    result = await environment.execute(line, timeout=patience(_SECONDS))
    return result.output.strip() if result.exit_code == 0 else ""
