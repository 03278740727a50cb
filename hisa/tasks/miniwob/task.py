"""A task of MiniWoB++ by its name; the page itself says what is to be done."""

from __future__ import annotations

from hisa.protocols import Task
from hisa.tasks.miniwob.package import page_path

__all__ = ["miniwob_task"]


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
        setup=({"type": "miniwob_page", "parameters": {"task": name, "seed": seed}},),
        check={"func": "miniwob_solved", "result": {"type": "miniwob_reward"}},
    )
