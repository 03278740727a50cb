"""A task of MiniWoB++ by its name; the page itself says what is to be done."""

from __future__ import annotations

from hisa.plugins.gym.miniwob.package import page_path
from hisa.protocols import Task

__all__ = ["is_page", "miniwob_task"]

_SETUP = "miniwob_page"
_PAGES = (_SETUP, "browsergym_task")


def is_page(task: Task) -> bool:
    """Whether a task is a page that fills the screen, where no other program is of use."""
    return any(step.get("type") in _PAGES for step in task.setup)


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
        setup=({"type": _SETUP, "parameters": {"task": name, "seed": seed}},),
        check={"func": "miniwob_solved", "result": {"type": "miniwob_reward"}},
    )
