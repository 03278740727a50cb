"""Ways out of a screen that offers nothing new: Escape, the program once more, a fresh desktop.

Each costs more than the one before. Escape keeps everything. A program that was ended may ask at
its next start whether to restore something, and what it keeps (a hidden menu bar) stays as it is:
only a fresh desktop takes that back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from hisa.config import TaskSettings
from hisa.errors import EnvironmentFailed
from hisa.plugins.synthesis.frontier import Frontier, Key
from hisa.plugins.synthesis.subject import Subject
from hisa.protocols import Environment
from hisa.tasks.scorer import TaskScorer

__all__ = ["Rung", "is_wedged", "next_rung", "restart_program"]

Rung = Literal["escape", "restart", "fresh"]
_ESCAPES = 3
"""A list, the dialog that it is in, and the dialog under that."""
_END = (
    "for one in $(pgrep -f '^bash -c mkdir.*/tmp/.hisa-started-'); do pkill -s $one; done; "
    "for wait in 1 2 3 4 5 6; do pgrep -f '^bash -c mkdir.*/tmp/.hisa-started-' || break; "
    "sleep .5; done; true"
)
"""Ends what the setup started, by the sessions that it started them in."""


def next_rung(*, at_rest: bool, gone: bool, escapes: int, restarts: int) -> Rung:
    """The cheapest way out that was not tried yet.

    Args:
        at_rest: the main window is in front: nothing is there to escape from.
        gone: the main window is not there at all.
        escapes: how many were pressed one after the other.
        restarts: of the program, on this desktop.
    """
    if not at_rest and escapes < _ESCAPES:
        return "escape"
    return "restart" if gone and not restarts else "fresh"


def is_wedged(frontier: Frontier, offered: Collection[Key]) -> bool:
    """Whether a screen at rest lacks most of what the fresh start offered, wherever it is held."""
    root, here = ({key[:3] for key in keys} for keys in (frontier.root, offered))
    return 2 * len(root & here) < len(root)


async def restart_program(
    environment: Environment, subject: Subject, settings: TaskSettings
) -> bool:
    """End what the subject's setup launched and launch it once more; files stay as they are.

    Returns:
        whether it came up.
    """
    await environment.execute(_END)
    steps = tuple(step for step in subject.setup if {"launch", "wait_window"} & step.keys())
    task = replace(subject.task(), setup=steps)
    try:
        await TaskScorer(settings=settings).prepare(task, environment)
    except EnvironmentFailed:
        return False
    return True
