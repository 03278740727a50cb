"""A task of MiniWoB++ by its name; the page itself says what is to be done."""

from __future__ import annotations

from hisa.plugins.gym.miniwob.package import page_path
from hisa.plugins.gym.miniwob.show_page import SETUP_STEP
from hisa.protocols import Task

__all__ = ["MINIWOB", "miniwob_task"]

MINIWOB = "miniwob:"
"""How the name of a page begins where a task file could stand."""


def miniwob_task(name: str, *, seed: int = 0) -> Task:
    """The task ``name``; its instruction is replaced by the page's own once that is drawn.

    Raises:
        UsageError: no such task, or the pages are not installed.
    """
    page_path(name)
    return Task(
        id=name,
        instruction=f"What the MiniWoB++ page {name} asks for.",
        domain="browser",
        setup=({"type": SETUP_STEP, "parameters": {"task": name, "seed": seed}},),
        check={"func": "miniwob_solved", "result": {"type": "miniwob_reward"}},
    )
