"""Which pages need a font to be solved, and whether the machine has one of its widths.

Like a missing application, a missing font is looked for before the setup: it is never a score of 0.
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
"""Pages that are laid out for Arial, and cannot be solved where it is drawn by another font."""
_AS_WIDE = ("Arial", "Arimo", "Liberation Sans")
"""What Chromium takes for Arial; where fontconfig offers another, it draws its default font."""
_SECONDS = 30.0  # chosen by hand


async def require_font(task: Task, environment: Environment) -> None:
    """See that a page which is laid out for Arial gets letters of its widths.

    A machine that cannot tell its fonts lacks none.

    Raises:
        EnvironmentFailed: it has none.
    """
    pages = {str(step.get("parameters", {}).get("task")) for step in task.setup}
    if not {page.removeprefix("miniwob.") for page in pages} & _LAID_OUT:
        return
    font = await _drawn_for_arial(environment)
    if font and not font.startswith(_AS_WIDE):
        raise EnvironmentFailed(
            f"task {task.id!r} needs a font as wide as Arial, which {environment.name} does not "
            f"have: it draws {font[:60]!r}",
            fix="where its browser runs: apt-get install fonts-liberation",
        )


async def _drawn_for_arial(environment: Environment) -> str:
    """Returns the family that fontconfig has for Arial; empty where nobody can tell."""
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
